// The simulated GE: parser, sessions, options, the order of calls, the context trap, runs; numbers equal ONNX Runtime's.
#include <dlfcn.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "parser/tensorflow_parser.h"
#include "test/ge_session_fixture.h"

using namespace ge_fixture;

TEST(nothing_works_before_GEInitialize) {
  ge_fixture::UseCards("910B3");
  CHECK_EQ(ge::GEFinalize(), ge::SUCCESS);
  ge::Session session({});
  CHECK_EQ(session.GetSessionId(), 0u);
  CHECK(Says("GE is not initialised"));
  CHECK_EQ(session.AddGraph(1, Parse(ge_fixture::LinearModel(1))), ge::FAILED);
  CHECK_EQ(session.CompileGraph(1), ge::FAILED);
}

TEST(GEInitialize_twice_ignores_the_second_options) {
  StartGe({{"ge.exec.precision_mode", "force_fp16"}});
  CHECK_EQ(ge::GEInitialize({{"ge.exec.precision_mode_v2", "origin"}}), ge::SUCCESS);
  ge::Session session({});
  CHECK(session.GetSessionId() != 0);
  CHECK_EQ(ge::GEInitialize({{"", "x"}}), ge::FAILED);
}

TEST(options_conflict_across_levels) {
  ge_fixture::UseCards("910B3");
  CHECK_EQ(ge::GEInitialize({{"ge.exec.precision_mode", "force_fp16"}, {"ge.exec.precision_mode_v2", "fp16"}}), ge::FAILED);
  CHECK(Says("exclude each other"));
  CHECK_EQ(ge::GEInitialize({{"ge.exec.precision_mode", "half"}}), ge::FAILED);
  CHECK(Says("does not take 'half'"));
  CHECK_EQ(ge::GEInitialize({{"ge.aicoreNum", "21|10"}}), ge::FAILED);
  CHECK(Says("beyond Ascend910B3, which has 20|40"));
  CHECK_EQ(ge::GEInitialize({{"ge.exec.precision_mode", "force_fp16"}}), ge::SUCCESS);
  ge::Session refused(Options{{"ge.exec.precision_mode_v2", "origin"}});
  CHECK_EQ(refused.GetSessionId(), 0u);
  ge::Session outside(Options{{"ge.session_device_id", "5"}});
  CHECK_EQ(outside.GetSessionId(), 0u);
  ge::Session session({});
  CHECK_EQ(session.AddGraph(1, Parse(ge_fixture::LinearModel(1)), {{"ge.exec.precision_mode_v2", "origin"}}), ge::FAILED);
  CHECK_EQ(session.AddGraph(1, Parse(ge_fixture::LinearModel(1)), {{"ge.socVersion", "Ascend310P3"}}), ge::SUCCESS);
  CHECK_EQ(session.CompileGraph(1), ge::FAILED);
  CHECK(Says("ge.socVersion is Ascend310P3, the device is Ascend910B3"));
}

TEST(sessions_are_refused_where_there_is_no_online_GE) {
  StartGe({}, "310B1");
  ge::Session session({});
  CHECK_EQ(session.GetSessionId(), 0u);
  CHECK(Says("online sessions are not supported on Ascend310B1"));
}

TEST(the_parser_says_what_it_cannot_read) {
  StartGe();
  ge::Graph graph("x");
  CHECK_EQ(ge::aclgrphParseONNX("/nowhere/model.onnx", {}, graph), ge::GRAPH_FAILED);
  CHECK(Says("cannot be read: /nowhere/model.onnx"));
  CHECK_EQ(ge::aclgrphParseONNXFromMem("garbage", 7, {}, graph), ge::GRAPH_FAILED);
  CHECK(Says("cannot be parsed"));
  CHECK(!graph.IsValid());
  CHECK_EQ(ge::aclgrphParseTensorFlow("model.pb", {}, graph), ge::GRAPH_FAILED);
  ge::Session session({});
  CHECK_EQ(session.AddGraph(1, graph), ge::FAILED);
}

TEST(load_and_run_want_the_right_order) {
  StartGe();
  ge::Session session({});
  aclrtStream stream = nullptr;
  std::vector<gert::Tensor> outputs;
  CHECK_EQ(session.AddGraph(1, Parse(ge_fixture::LinearModel(1))), ge::SUCCESS);
  CHECK_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  CHECK_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  CHECK_EQ(session.LoadGraph(1, {}, stream), ge::FAILED);
  CHECK(Says("not compiled"));
  CHECK(session.GetCompiledGraphSummary(1) == nullptr);
  CHECK_EQ(session.CompileGraph(1), ge::SUCCESS);
  CHECK_EQ(session.ExecuteGraphWithStreamAsync(1, stream, {}, outputs), ge::FAILED);
  CHECK(Says("not loaded"));
  CHECK_EQ(session.LoadGraph(1, {}, stream), ge::SUCCESS);
  CHECK_EQ(session.LoadGraph(1, {}, stream), ge::FAILED);
  CHECK(Says("LoadGraph is called once"));
  std::vector<ge::Tensor> hostOutputs;
  CHECK_EQ(session.RunGraph(1, {HostTensor(ge_fixture::Ramp(4), {1, 4})}, hostOutputs), ge::FAILED);
  CHECK_EQ(session.BuildGraph(1, {}), ge::FAILED);
  CHECK_EQ(session.RemoveGraph(1), ge::SUCCESS);
  CHECK_EQ(session.RemoveGraph(1), ge::FAILED);
  CHECK_EQ(session.CompileGraph(1), ge::FAILED);
  CHECK_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
}

TEST(a_session_leaves_the_thread_on_a_private_context) {
  StartGe();
  CHECK_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  aclrtContext before = nullptr;
  aclrtContext after = nullptr;
  CHECK_EQ(aclrtGetCurrentContext(&before), ACL_SUCCESS);
  ge::Session session({});
  CHECK_EQ(aclrtGetCurrentContext(&after), ACL_SUCCESS);
  CHECK(before != after);
  CHECK_EQ(session.AddGraph(1, Parse(ge_fixture::LinearModel(1))), ge::SUCCESS);
  CHECK_EQ(session.CompileGraph(1), ge::SUCCESS);
  // The trap: a stream made now belongs to the private context, and GE works in the default one.
  aclrtStream trapped = nullptr;
  CHECK_EQ(aclrtCreateStream(&trapped), ACL_SUCCESS);
  CHECK_EQ(session.LoadGraph(1, {}, trapped), ge::FAILED);
  CHECK(Says("107003"));
  CHECK_EQ(aclrtGetCurrentContext(&after), ACL_SUCCESS);
  CHECK_EQ(after, before);
  CHECK_EQ(aclrtSynchronizeStream(trapped), ACL_ERROR_RT_STREAM_CONTEXT);
  aclrtStream stream = nullptr;
  CHECK_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  CHECK_EQ(session.LoadGraph(1, {}, stream), ge::SUCCESS);
  CHECK_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
}

TEST(runs_with_outputs_of_the_caller_and_of_its_own) {
  StartGe();
  const std::vector<char> onnx = ge_fixture::LinearModel(2);
  Loaded loaded(onnx);
  const std::vector<float> expected = ge_fixture::Reference(onnx, ge_fixture::Ramp(8), {2, 4});
  void *input = Upload(ge_fixture::Ramp(8));
  void *output = Upload(std::vector<float>(6, 0.f));
  std::vector<gert::Tensor> inputs;
  std::vector<gert::Tensor> outputs;
  inputs.push_back(DeviceTensor(input, {2, 4}));
  outputs.push_back(DeviceTensor(output, {2, 3}));
  CHECK_EQ(loaded.session.ExecuteGraphWithStreamAsync(1, loaded.stream, inputs, outputs), ge::SUCCESS);
  CHECK_EQ(aclrtSynchronizeStream(loaded.stream), ACL_SUCCESS);
  CHECK(Download(output, 6) == expected);
  // Left to GE: the same address for every run.
  std::vector<gert::Tensor> first;
  std::vector<gert::Tensor> second;
  CHECK_EQ(loaded.session.ExecuteGraphWithStreamAsync(1, loaded.stream, inputs, first), ge::SUCCESS);
  CHECK_EQ(loaded.session.ExecuteGraphWithStreamAsync(1, loaded.stream, inputs, second), ge::SUCCESS);
  CHECK_EQ(aclrtSynchronizeStream(loaded.stream), ACL_SUCCESS);
  REQUIRE(first.size() == 1 && second.size() == 1);
  CHECK_EQ(first[0].GetAddr(), second[0].GetAddr());
  CHECK_EQ(first[0].GetStorageShape().GetDim(1), 3);
  CHECK_EQ(first[0].GetSize(), 24u);
  CHECK(Download(first[0].GetAddr(), 6) == expected);
  std::vector<gert::Tensor> wrong;
  wrong.push_back(DeviceTensor(input, {1, 4}));
  CHECK_EQ(loaded.session.ExecuteGraphWithStreamAsync(1, loaded.stream, wrong, outputs), ge::FAILED);
  CHECK(Says("input shapes are not those of the graph"));
  CHECK_EQ(loaded.session.ExecuteGraphWithStreamAsync(1, loaded.stream, {}, outputs), ge::FAILED);
  std::vector<gert::Tensor> small;
  small.push_back(DeviceTensor(output, {1, 3}));
  CHECK_EQ(loaded.session.ExecuteGraphWithStreamAsync(1, loaded.stream, inputs, small), ge::FAILED);
  CHECK(Says("output 0 needs 24 bytes"));
  CHECK_EQ(aclrtFree(input), ACL_SUCCESS);
  // Freed memory shows when the work is done.
  CHECK_EQ(loaded.session.ExecuteGraphWithStreamAsync(1, loaded.stream, inputs, outputs), ge::SUCCESS);
  CHECK_EQ(aclrtSynchronizeStream(loaded.stream), ACL_ERROR_RT_AICORE_EXCEPTION);
  CHECK_EQ(aclrtDestroyStream(loaded.stream), ACL_SUCCESS);
}

TEST(the_c_names_do_the_same) {
  StartGe();
  const std::vector<char> onnx = ge_fixture::LinearModel(1);
  void *library = dlopen(TEST_LIBRARY_DIR "/libge_runner.so", RTLD_NOW | RTLD_LOCAL);
  REQUIRE(library != nullptr);
  const auto load = reinterpret_cast<decltype(&GeSessionLoadGraph)>(dlsym(library, "GeSessionLoadGraph"));
  const auto run = reinterpret_cast<decltype(&GeSessionExecuteGraphWithStreamAsync)>(dlsym(library, "GeSessionExecuteGraphWithStreamAsync"));
  REQUIRE(load != nullptr && run != nullptr);
  Loaded loaded(onnx);
  CHECK_EQ(load(loaded.session, 1, {}, loaded.stream), ge::FAILED);
  std::vector<gert::Tensor> inputs;
  std::vector<gert::Tensor> outputs;
  inputs.push_back(DeviceTensor(Upload(ge_fixture::Ramp(4)), {1, 4}));
  CHECK_EQ(run(loaded.session, 1, loaded.stream, inputs, outputs), ge::SUCCESS);
  CHECK_EQ(aclrtSynchronizeStream(loaded.stream), ACL_SUCCESS);
  CHECK(Download(outputs[0].GetAddr(), 3) == ge_fixture::Reference(onnx, ge_fixture::Ramp(4), {1, 4}));
}

TEST(host_inputs_have_to_be_named) {
  StartGe();
  const std::vector<char> onnx = ge_fixture::LinearModel(1);
  ge::Session session({});
  CHECK_EQ(session.AddGraph(1, Parse(onnx)), ge::SUCCESS);
  CHECK_EQ(session.AddGraph(2, Parse(onnx)), ge::SUCCESS);
  CHECK_EQ(session.CompileGraph(1), ge::SUCCESS);
  CHECK_EQ(session.CompileGraph(2), ge::SUCCESS);
  CHECK_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  CHECK_EQ(session.LoadGraph(1, {}, nullptr), ge::SUCCESS);
  CHECK_EQ(session.LoadGraph(2, {{"ge.exec.hostInputIndexes", "0"}}, nullptr), ge::SUCCESS);
  std::vector<float> values = ge_fixture::Ramp(4);
  std::vector<gert::Tensor> inputs;
  std::vector<gert::Tensor> outputs;
  inputs.push_back(DeviceTensor(values.data(), {1, 4}));
  inputs[0].SetPlacement(gert::kOnHost);
  CHECK_EQ(session.ExecuteGraphWithStreamAsync(1, nullptr, inputs, outputs), ge::FAILED);
  CHECK(Says("not named in ge.exec.hostInputIndexes"));
  CHECK_EQ(session.ExecuteGraphWithStreamAsync(2, nullptr, inputs, outputs), ge::SUCCESS);
  CHECK_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
  CHECK(Download(outputs[0].GetAddr(), 3) == ge_fixture::Reference(onnx, values, {1, 4}));
}

TEST(the_older_run_calls) {
  StartGe();
  const std::vector<char> onnx = ge_fixture::LinearModel(2);
  const std::vector<float> expected = ge_fixture::Reference(onnx, ge_fixture::Ramp(8), {2, 4});
  ge::Session session({});
  CHECK_EQ(session.AddGraph(1, Parse(onnx)), ge::SUCCESS);
  CHECK_EQ(session.AddGraph(2, Parse(onnx)), ge::SUCCESS);
  const std::vector<ge::Tensor> inputs = {HostTensor(ge_fixture::Ramp(8), {2, 4})};
  std::vector<ge::Tensor> outputs;
  CHECK_EQ(session.BuildGraph(1, inputs), ge::SUCCESS);
  CHECK_EQ(session.RunGraph(1, inputs, outputs), ge::SUCCESS);
  REQUIRE(outputs.size() == 1);
  CHECK(Values(outputs[0]) == expected);
  CHECK_EQ(session.CompileGraph(1), ge::FAILED);
  std::mutex mutex;
  std::condition_variable changed;
  int good = 0;
  int called = 0;
  for (int round = 0; round < 3; round++) {
    CHECK_EQ(session.RunGraphAsync(1, inputs, [&](ge::Status status, std::vector<ge::Tensor> &results) {
      const std::lock_guard lock(mutex);
      if (status == ge::SUCCESS && Values(results[0]) == expected) good++;
      called++;
      changed.notify_all();
    }), ge::SUCCESS);
  }
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return called == 3; });
    CHECK_EQ(good, 3);
  }
  // On a stream, with device addresses: compiles and loads by itself.
  aclrtStream stream = nullptr;
  CHECK_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  CHECK_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  ge::TensorDesc desc(ge::Shape({2, 4}));
  desc.SetPlacement(ge::kPlacementDevice);
  ge::Tensor onDevice(desc);
  onDevice.SetData(static_cast<uint8_t *>(Upload(ge_fixture::Ramp(8))), 32, [](uint8_t *) {});
  std::vector<ge::Tensor> streamOutputs;
  CHECK_EQ(session.RunGraphWithStreamAsync(2, stream, {onDevice}, streamOutputs), ge::SUCCESS);
  CHECK_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  CHECK(Download(streamOutputs[0].GetData(), 6) == expected);
}

TEST(a_failed_run_surfaces_at_the_synchronisation) {
  StartGe();
  Loaded loaded(ge_fixture::LinearModel(1));
  std::vector<gert::Tensor> inputs;
  std::vector<gert::Tensor> outputs;
  inputs.push_back(DeviceTensor(Upload(ge_fixture::Ramp(4)), {1, 4}));
  ge_fixture::UseCards("910B3", "{\"kind\": \"ecc\", \"count\": 1}");
  CHECK_EQ(loaded.session.ExecuteGraphWithStreamAsync(1, loaded.stream, inputs, outputs), ge::SUCCESS);
  CHECK_EQ(aclrtSynchronizeStream(loaded.stream), ACL_ERROR_RT_HBM_MULTI_BIT_ECC_ERROR);
  ge_fixture::UseCards("910B3", "{\"kind\": \"card-lost\"}");
  CHECK_EQ(loaded.session.ExecuteGraphWithStreamAsync(1, loaded.stream, inputs, outputs), ge::FAILED);
  CHECK(Says("507033"));
}

TEST(memory_runs_out_at_the_load) {
  StartGe();
  ge::Session session({});
  CHECK_EQ(session.AddGraph(1, Parse(ge_fixture::LinearModel(1))), ge::SUCCESS);
  CHECK_EQ(session.CompileGraph(1), ge::SUCCESS);
  ge_fixture::UseCards("910B3", "{\"kind\": \"out-of-memory\"}");
  CHECK_EQ(session.LoadGraph(1, {}, nullptr), ge::FAILED);
  CHECK(Says("does not fit into the memory of device 0 (245000)"));
  ge_fixture::UseCards("910B3");
  CHECK_EQ(session.LoadGraph(1, {}, nullptr), ge::SUCCESS);
}

TEST(graphs_run_on_many_streams_and_threads) {
  StartGe();
  const std::vector<char> onnx = ge_fixture::LinearModel(2);
  const std::vector<float> expected = ge_fixture::Reference(onnx, ge_fixture::Ramp(8), {2, 4});
  ge::Session session({});
  for (uint32_t graph : {1, 2}) {
    CHECK_EQ(session.AddGraph(graph, Parse(onnx)), ge::SUCCESS);
    CHECK_EQ(session.CompileGraph(graph), ge::SUCCESS);
  }
  CHECK_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  for (uint32_t graph : {1, 2}) CHECK_EQ(session.LoadGraph(graph, {}, nullptr), ge::SUCCESS);
  aclrtContext context = nullptr;
  CHECK_EQ(aclrtGetCurrentContext(&context), ACL_SUCCESS);
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  // Two threads a graph: their runs of one graph take turns, the graphs run beside each other.
  for (uint32_t number = 0; number < 4; number++) {
    threads.emplace_back([&, number] {
      aclrtStream stream = nullptr;
      if (aclrtSetCurrentContext(context) != ACL_SUCCESS || aclrtCreateStream(&stream) != ACL_SUCCESS) return;
      void *input = Upload(ge_fixture::Ramp(8));
      void *output = Upload(std::vector<float>(6, 0.f));
      bool isRight = true;
      for (int round = 0; round < 20; round++) {
        std::vector<gert::Tensor> inputs;
        std::vector<gert::Tensor> outputs;
        inputs.push_back(DeviceTensor(input, {2, 4}));
        outputs.push_back(DeviceTensor(output, {2, 3}));
        isRight = isRight && session.ExecuteGraphWithStreamAsync(1 + number % 2, stream, inputs, outputs) == ge::SUCCESS &&
                  aclrtSynchronizeStream(stream) == ACL_SUCCESS && Download(output, 6) == expected;
      }
      if (isRight && aclrtDestroyStream(stream) == ACL_SUCCESS) good++;
    });
  }
  for (std::thread &thread : threads) thread.join();
  CHECK_EQ(good.load(), 4);
}

TEST(a_session_gives_everything_back) {
  StartGe();
  CHECK_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  size_t before = 0;
  size_t after = 0;
  size_t total = 0;
  CHECK_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &before, &total), ACL_SUCCESS);
  {
    Loaded loaded(ge_fixture::LinearModel(1));
    CHECK_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &after, &total), ACL_SUCCESS);
    CHECK(after < before);
    CHECK_EQ(aclrtDestroyStream(loaded.stream), ACL_SUCCESS);
  }
  CHECK_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  CHECK_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &after, &total), ACL_SUCCESS);
  CHECK_EQ(after, before);
  CHECK_EQ(ge::GEFinalize(), ge::SUCCESS);
  ge::Session late({});
  CHECK_EQ(late.GetSessionId(), 0u);
}
