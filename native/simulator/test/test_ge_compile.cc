// The simulated GE's compiler: gears and free shapes, core numbers, caches, compile time, and models built in the process.
#include <unistd.h>

#include <chrono>
#include <string>

#include "ge/ge_ir_build.h"
#include "test/ge_session_fixture.h"

using namespace ge_fixture;

TEST(gears_of_a_graph) {
  StartGe();
  const std::vector<char> onnx = ge_fixture::LinearModel(-1);
  const Options gears = {{"ge.inputShape", "x:-1,4"}, {"ge.dynamicDims", "1;2;4"}, {"ge.dynamicNodeType", "1"}};
  Loaded loaded(onnx, {}, gears);
  const auto summary = loaded.session.GetCompiledGraphSummary(1);
  REQUIRE(summary != nullptr);
  CHECK(summary->IsStatic());
  std::vector<ge::Shape> shapes;
  CHECK_EQ(summary->GetOutputShapes(shapes), ge::SUCCESS);
  CHECK_EQ(shapes[0].GetDim(0), 4);
  void *input = Upload(ge_fixture::Ramp(16));
  for (const int64_t batch : {1, 2, 4}) {
    std::vector<gert::Tensor> inputs;
    std::vector<gert::Tensor> outputs;
    inputs.push_back(DeviceTensor(input, {batch, 4}));
    CHECK_EQ(loaded.session.ExecuteGraphWithStreamAsync(1, loaded.stream, inputs, outputs), ge::SUCCESS);
    CHECK_EQ(aclrtSynchronizeStream(loaded.stream), ACL_SUCCESS);
    CHECK_EQ(outputs[0].GetStorageShape().GetDim(0), batch);
    CHECK(Download(outputs[0].GetAddr(), static_cast<size_t>(batch) * 3) == ge_fixture::Reference(onnx, ge_fixture::Ramp(static_cast<size_t>(batch) * 4), {batch, 4}));
  }
  std::vector<gert::Tensor> inputs;
  std::vector<gert::Tensor> outputs;
  inputs.push_back(DeviceTensor(input, {3, 4}));
  CHECK_EQ(loaded.session.ExecuteGraphWithStreamAsync(1, loaded.stream, inputs, outputs), ge::FAILED);
  CHECK_EQ(loaded.session.AddGraph(2, Parse(onnx), {{"ge.dynamicDims", "1;2"}}), ge::SUCCESS);
  CHECK_EQ(loaded.session.CompileGraph(2), ge::FAILED);
  CHECK(Says("ge.inputShape, ge.dynamicDims and ge.dynamicNodeType together"));
  CHECK_EQ(loaded.session.AddGraph(3, Parse(onnx), {{"ge.inputShape", "x:-1,4"}, {"ge.dynamicDims", "1"}, {"ge.dynamicNodeType", "1"}}), ge::SUCCESS);
  CHECK_EQ(loaded.session.CompileGraph(3), ge::FAILED);
  CHECK(Says("must be 2 to 100"));
}

TEST(free_shapes_are_known_when_the_call_returns) {
  StartGe();
  const std::vector<char> onnx = ge_fixture::LinearModel(-1);
  Loaded loaded(onnx);
  CHECK(!loaded.session.GetCompiledGraphSummary(1)->IsStatic());
  void *input = Upload(ge_fixture::Ramp(20));
  for (const int64_t batch : {5, 3}) {
    std::vector<gert::Tensor> inputs;
    std::vector<gert::Tensor> outputs;
    inputs.push_back(DeviceTensor(input, {batch, 4}));
    CHECK_EQ(loaded.session.ExecuteGraphWithStreamAsync(1, loaded.stream, inputs, outputs), ge::SUCCESS);
    REQUIRE(outputs.size() == 1);
    CHECK_EQ(outputs[0].GetStorageShape().GetDim(0), batch);
    CHECK_EQ(aclrtSynchronizeStream(loaded.stream), ACL_SUCCESS);
    CHECK(Download(outputs[0].GetAddr(), static_cast<size_t>(batch) * 3) == ge_fixture::Reference(onnx, ge_fixture::Ramp(static_cast<size_t>(batch) * 4), {batch, 4}));
  }
}

TEST(the_parser_may_fix_the_shape) {
  StartGe();
  ge::Session session({});
  CHECK_EQ(session.AddGraph(1, Parse(ge_fixture::LinearModel(-1), {{"input_shape", "x:6,4"}})), ge::SUCCESS);
  CHECK_EQ(session.CompileGraph(1), ge::SUCCESS);
  CHECK(session.GetCompiledGraphSummary(1)->IsStatic());
  size_t bytes = 0;
  CHECK_EQ(session.GetCompiledGraphSummary(1)->GetConstMemorySize(bytes), ge::SUCCESS);
  CHECK(bytes > 0);
}

TEST(compiling_leaves_a_file_in_the_current_directory) {
  StartGe();
  const std::string meta = std::string(ge_fixture::Directory()) + "/simulated_ge_meta_test.json";
  ge::Session session({});
  CHECK_EQ(session.AddGraph(1, Parse(ge_fixture::LinearModel(1))), ge::SUCCESS);
  CHECK(access(meta.c_str(), F_OK) != 0);
  CHECK_EQ(session.CompileGraph(1), ge::SUCCESS);
  CHECK_EQ(access(meta.c_str(), F_OK), 0);
}

TEST(a_core_number_on_the_graph_fails_at_the_load) {
  StartGe();
  ge::Session session(Options{{"ge.aicoreNum", "12|10"}});
  CHECK(session.GetSessionId() != 0);
  CHECK_EQ(session.AddGraph(1, Parse(ge_fixture::LinearModel(1)), {{"ge.aicoreNum", "10|10"}}), ge::SUCCESS);
  CHECK_EQ(session.CompileGraph(1), ge::SUCCESS);
  CHECK_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  CHECK_EQ(session.LoadGraph(1, {}, nullptr), ge::FAILED);
  CHECK(Says("GetPlatformInfo failed"));
  ge::Session tooMany(Options{{"ge.aicoreNum", "99|10"}});
  CHECK_EQ(tooMany.GetSessionId(), 0u);
}

TEST(a_model_built_in_the_process_runs_as_om) {
  ge_fixture::UseCards("910B3");
  CHECK_EQ(aclInit(nullptr), ACL_SUCCESS);
  const std::vector<char> onnx = ge_fixture::LinearModel(-1);
  ge::ModelBufferData om;
  Options global = {{"ge.socVersion", "Ascend910B3"}};
  CHECK_EQ(ge::aclgrphBuildModel(Parse(onnx), {}, om), ge::GRAPH_FAILED);
  CHECK_EQ(ge::aclgrphBuildInitialize(global), ge::GRAPH_SUCCESS);
  CHECK_EQ(ge::aclgrphBuildModel(Parse(onnx), {{"input_shape", "x:-1,4"}, {"ge.dynamicBatchSize", "1,2"}}, om), ge::GRAPH_SUCCESS);
  CHECK_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  uint32_t id = 0;
  CHECK_EQ(aclmdlLoadFromMem(om.data.get(), om.length, &id), ACL_SUCCESS);
  const std::string path = ge_fixture::Directory();
  CHECK_EQ(ge::aclgrphSaveModel((path + "/built").c_str(), om), ge::GRAPH_SUCCESS);
  CHECK_EQ(aclmdlLoadFromFile((path + "/built.om").c_str(), &id), ACL_SUCCESS);
  ge::aclgrphBuildFinalize();
}

TEST(the_whole_graph_cache_is_used_and_survives_damage) {
  StartGe();
  const std::string directory = std::string(ge_fixture::Directory()) + "/cache";
  const Options cache = {{"ge.graph_compiler_cache_dir", directory.c_str()}, {"ge.graph_key", "linear"}};
  const std::vector<char> onnx = ge_fixture::LinearModel(1);
  ge::Session session({});
  CHECK_EQ(ge_fixture::FilesIn(directory.c_str()), 0);
  CHECK_EQ(session.AddGraph(1, Parse(onnx), cache), ge::SUCCESS);
  CHECK_EQ(session.CompileGraph(1), ge::SUCCESS);
  CHECK_EQ(ge_fixture::FilesIn(directory.c_str()), 1);
  CHECK_EQ(session.AddGraph(2, Parse(onnx), cache), ge::SUCCESS);
  CHECK_EQ(session.CompileGraph(2), ge::SUCCESS);
  CHECK_EQ(ge_fixture::FilesIn(directory.c_str()), 1);
  ge_fixture::DamageFilesIn(directory.c_str());
  CHECK_EQ(session.AddGraph(3, Parse(onnx), cache), ge::SUCCESS);
  CHECK_EQ(session.CompileGraph(3), ge::SUCCESS);
  CHECK(session.GetCompiledGraphSummary(3)->IsStatic());
}

TEST(compiling_takes_time_and_the_operator_cache_remembers) {
  ge_fixture::UseCardsInTime("910B3", 0.1);
  CHECK_EQ(ge::GEInitialize({}), ge::SUCCESS);
  const std::string directory = std::string(ge_fixture::Directory()) + "/operators";
  const std::vector<char> onnx = ge_fixture::LinearModel(1);
  ge::Session session({});
  CHECK_EQ(session.AddGraph(1, Parse(onnx), {{"ge.op_compiler_cache_dir", directory.c_str()}, {"ge.op_compiler_cache_mode", "disable"}}), ge::SUCCESS);
  CHECK_EQ(session.AddGraph(2, Parse(onnx), {{"ge.op_compiler_cache_dir", directory.c_str()}}), ge::SUCCESS);
  const auto start = std::chrono::steady_clock::now();
  CHECK_EQ(session.CompileGraph(1), ge::SUCCESS);
  // 2.6 s of a compiler, stretched by 0.1.
  CHECK(std::chrono::steady_clock::now() - start >= std::chrono::milliseconds(260));
  CHECK_EQ(ge_fixture::FilesIn(directory.c_str()), 0);
  CHECK_EQ(session.CompileGraph(2), ge::SUCCESS);
  CHECK_EQ(ge_fixture::FilesIn(directory.c_str()), 1);
  // Compiled once; asking again costs nothing and changes nothing.
  CHECK_EQ(session.CompileGraph(2), ge::SUCCESS);
  CHECK_EQ(session.AddGraph(3, Parse(onnx), {{"ge.op_compiler_cache_dir", directory.c_str()}}), ge::SUCCESS);
  CHECK_EQ(session.CompileGraph(3), ge::SUCCESS);
  CHECK_EQ(ge_fixture::FilesIn(directory.c_str()), 1);
}
