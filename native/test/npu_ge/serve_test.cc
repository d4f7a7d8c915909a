// npu_ge serves: what it answers is what ONNX Runtime answers, on one card and on two.
#include <filesystem>
#include <memory>

#include "ge_server.h"
#include "model_files.h"

namespace fs = std::filesystem;
using namespace ge;
using rig::Bytes;

TEST(Serve, completes_the_config_and_runs_lone_requests_and_batches) {
  Server server;
  EXPECT_EQ(server.ServeModel(1, fixture::LinearModel(-1), R"({"name":"m"})"), "");
  EXPECT_CONTAINS(server.config(), R"("max_batch_size":4)");
  EXPECT_CONTAINS(server.config(), R"("dims":[4])");
  EXPECT_CONTAINS(server.config(), R"("dynamic_batching":{})");
  const EventPtr one = server.InferLinear(100, fixture::Ramp(4));
  EXPECT_EQ(Floats(Bytes(*one, "y")), Linear(fixture::Ramp(4)));
  EXPECT_EQ(ShapeOf(one, "y"), (Shape{1, 3}));
  Request two(2), three(3);
  two.Raw("x", TRITONSERVER_TYPE_FP32, {2, 4}, BytesOf(fixture::Ramp(8))).Output("y");
  three.Raw("x", TRITONSERVER_TYPE_FP32, {1, 4}, BytesOf({9, 8, 7, 6})).Output("y");
  server.Submit(100, 77, {&two, &three});
  EXPECT_EQ(Floats(Bytes(*server.Wait(TRITONHOST_EVENT_RESPONSE, 2), "y")), Linear(fixture::Ramp(8)));
  EXPECT_EQ(Floats(Bytes(*server.Wait(TRITONHOST_EVENT_RESPONSE, 3), "y")), Linear({9, 8, 7, 6}));
  EXPECT_EQ(server.Unload(1), "");
  EXPECT_EQ(server.Count(TRITONHOST_EVENT_VIOLATION), 0U);
}

TEST(Serve, adds_no_batch_to_dims_that_have_it) {
  Server server;
  EXPECT_EQ(server.LoadModel(1, fixture::LinearModel(-1), R"({"name":"m","input":[{"name":"x","data_type":"TYPE_FP32","dims":["-1","4"]}]})"), "");
  EXPECT_CONTAINS(server.config(), R"("max_batch_size":0)");
  EXPECT_CONTAINS(server.config(), R"("dims":[-1,3])");
}

TEST(Serve, works_out_output_shapes_from_the_names_of_input_dimensions) {
  Server server;
  EXPECT_EQ(server.ServeModel(1, model_files::Doubled(), Config(R"("max_batch_size":8)", Parameter("instance_exec_blocks", "2"))), "");
  for (const std::int64_t width : {3, 5, 3}) {
    Request request(server.NextToken());
    const std::vector<float> x = fixture::Ramp(static_cast<std::size_t>(5 * width));
    request.Raw("X", TRITONSERVER_TYPE_FP32, {5, width}, BytesOf(x)).Output("Y");
    const EventPtr answer = server.Infer(100, request);
    EXPECT_EQ(ShapeOf(answer, "Y"), (Shape{5, 2 * width}));
    EXPECT_EQ(Bytes(*answer, "Y"), Run(model_files::Doubled(), {{BytesOf(x), {5, width}}}).outputs[0]);
  }
  Request empty(server.NextToken());
  empty.Raw("X", TRITONSERVER_TYPE_FP32, {0, 3}, "").Output("Y");
  EXPECT_CONTAINS(Said(server.Infer(100, empty)), "the batch of the request is empty");
}

TEST(Serve, passes_half_and_double_precision) {
  Server server;
  for (const auto& [type, triton, size] : {std::tuple{model_files::FLOAT16, TRITONSERVER_TYPE_FP16, 2}, std::tuple{model_files::DOUBLE, TRITONSERVER_TYPE_FP64, 8}}) {
    EXPECT_EQ(server.ServeModel(1, model_files::Doubled(type), R"({"name":"m"})"), "");
    Request request(server.NextToken());
    std::string bytes;
    for (int index = 0; index < 3 * size; ++index) bytes += static_cast<char>(index);
    request.Raw("X", triton, {1, 3}, bytes).Output("Y");
    EXPECT_EQ(Bytes(*server.Infer(100, request), "Y"), bytes + bytes);
    EXPECT_EQ(server.Unload(1), "");
  }
  EXPECT_CONTAINS(server.LoadModel(2, model_files::Doubled(model_files::STRING), R"({"name":"m"})"), "A card takes no tensors of type BYTES");
}

TEST(Serve, text_recognition_equals_onnx_runtime_also_in_batches_of_several_widths) {
  Server server;
  const std::string model = TextRecognition();
  const std::string io = R"("max_batch_size":4,"input":[{"name":"x","data_type":"TYPE_FP32","dims":["3","48","-1"]}],)"
                         R"("output":[{"name":"softmax_11.tmp_0","data_type":"TYPE_FP32","dims":["-1","6625"]}])";
  // Under an emulator a run takes longer than the usual 60 s.
  EXPECT_EQ(server.ServeModel(1, model, Config(io, Parameter("instance_exec_blocks", "2") + "," + Parameter("execution_timeout_ms", "600000"))), "");
  for (const std::int64_t width : {64, 96}) {
    Request request(server.NextToken());
    const std::int64_t rows = width == 64 ? 1 : 2;
    const std::vector<float> x = TextPicture(rows, width);
    request.Raw("x", TRITONSERVER_TYPE_FP32, {rows, 3, 48, width}, BytesOf(x)).Output("softmax_11.tmp_0");
    const EventPtr answer = server.Infer(100, request);
    // Rows may run apart from each other, so each is held against itself.
    const std::string got = Bytes(*answer, "softmax_11.tmp_0");
    const std::size_t row = x.size() / static_cast<std::size_t>(rows);
    std::string expected;
    for (std::int64_t index = 0; index < rows; ++index) {
      const std::vector<float> one(x.begin() + static_cast<std::ptrdiff_t>(row * static_cast<std::size_t>(index)), x.begin() + static_cast<std::ptrdiff_t>(row * static_cast<std::size_t>(index + 1)));
      expected += Run(model, {{BytesOf(one), {1, 3, 48, width}}}).outputs[0];
    }
    EXPECT(got == expected);
    EXPECT_EQ(ShapeOf(answer, "softmax_11.tmp_0"), (Shape{rows, width / 8, 6625}));
  }
}

TEST(Serve, voice_detection_equals_onnx_runtime_with_several_inputs_and_a_scalar) {
  Server server;
  const std::string model = VoiceDetection();
  const std::string io = R"("max_batch_size":0,"input":[{"name":"input","data_type":"TYPE_FP32","dims":["-1","-1"]},{"name":"state","data_type":"TYPE_FP32","dims":["2","-1","128"]},)"
                         R"({"name":"sr","data_type":"TYPE_INT64","dims":["1"]}],"output":[{"name":"output","data_type":"TYPE_FP32","dims":["-1","1"]},)"
                         R"({"name":"stateN","data_type":"TYPE_FP32","dims":["2","-1","128"]}])";
  EXPECT_EQ(server.ServeModel(1, model, Config(io)), "");
  HoldVoiceDetectionAgainst(server, 100, model);
}

TEST(Serve, spreads_over_both_cards_and_gives_everything_back) {
  {
    Server server;
    const std::size_t before[] = {UsedMemory(0), UsedMemory(1)};
    EXPECT_EQ(server.ServeModel(1, fixture::LinearModel(-1), Config(R"("max_batch_size":4,)" + LINEAR_IO, Parameter("device_exec_blocks", "2")), 4), "");
    EXPECT(UsedMemory(0) > before[0] && UsedMemory(1) > before[1]);
    std::vector<std::unique_ptr<Request>> requests;
    for (std::uint64_t index = 0; index < 40; ++index) {
      requests.push_back(std::make_unique<Request>(1000 + index));
      requests.back()->Raw("x", TRITONSERVER_TYPE_FP32, {1, 4}, BytesOf({static_cast<float>(index), 2, 3, 4})).Output("y");
      server.Submit(100 + index % 4, 2000 + index, {requests.back().get()});
    }
    for (std::uint64_t index = 0; index < 40; ++index) {
      EXPECT_EQ(Floats(Bytes(*server.Wait(TRITONHOST_EVENT_RESPONSE, 1000 + index), "y")), Linear({static_cast<float>(index), 2, 3, 4}));
    }
    EXPECT_EQ(server.Unload(1), "");
    EXPECT_EQ(UsedMemory(0), before[0]);
    EXPECT_EQ(UsedMemory(1), before[1]);
  }
  // GE was ended with the server: it can be started again.
  Server again;
  EXPECT_EQ(again.ServeModel(1, fixture::LinearModel(-1), R"({"name":"m"})"), "");
}

TEST(Serve, keeps_runs_apart_that_follow_each_other_on_one_stream) {
  Server server;
  // One with memory of ours for the outputs, one where GE gives each run the same memory.
  EXPECT_EQ(server.ServeModel(1, model_files::Doubled(), Config(R"("max_batch_size":4)", Parameter("device_ids", "1") + "," + Parameter("device_exec_blocks", "1")), 4), "");
  EXPECT_EQ(server.ServeModel(2, fixture::LinearModel(-1), Config(R"("max_batch_size":4,)" + LINEAR_IO, Parameter("device_ids", "1") + "," + Parameter("device_exec_blocks", "1")), 4), "");
  std::vector<std::unique_ptr<Request>> requests;
  const auto input = [](std::uint64_t index) { return std::vector<float>{static_cast<float>(index), 2, 3, 4}; };
  for (std::uint64_t index = 0; index < 200; ++index) {
    const std::uint64_t model = 1 + index / 4 % 2;
    requests.push_back(std::make_unique<Request>(1000 + index));
    requests.back()->Raw(model == 1 ? "X" : "x", TRITONSERVER_TYPE_FP32, {1, 4}, BytesOf(input(index))).Output(model == 1 ? "Y" : "y");
    server.Submit(model * 100 + index % 4, 2000 + index, {requests.back().get()});
  }
  for (std::uint64_t index = 0; index < 200; ++index) {
    const EventPtr answer = server.Wait(TRITONHOST_EVENT_RESPONSE, 1000 + index);
    if (index / 4 % 2 == 0) {
      EXPECT_EQ(Bytes(*answer, "Y"), BytesOf(input(index)) + BytesOf(input(index)));
    } else {
      EXPECT_EQ(Floats(Bytes(*answer, "y")), Linear(input(index)));
    }
  }
}

TEST(Serve, leaves_nothing_of_ges_in_the_repository) {
  // GE writes into the current directory, and this server was started inside its repository.
  const fs::path repository = fixture::Directory() + "/repository", before = fs::current_path();
  fs::create_directories(repository);
  fs::current_path(repository);
  Server server;
  EXPECT_EQ(server.ServeModel(7, fixture::LinearModel(-1), R"({"name":"m"})"), "");
  EXPECT(!server.InferLinear(700, fixture::Ramp(4))->has_error);
  EXPECT(fs::current_path() == repository);
  fs::current_path(before);
  for (const auto& entry : fs::recursive_directory_iterator(repository)) EXPECT(entry.is_directory() || entry.path().filename() == "model.onnx");
  EXPECT(fs::exists(WorkDirectory() + "/simulated_ge_meta_graph_1.json"));
}
