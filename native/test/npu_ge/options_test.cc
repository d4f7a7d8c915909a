// Where npu_ge's options come to GE: the process (GEInitialize), the session or the graph, per model, with the command line as default.
#include <cstdlib>
#include <filesystem>

#include "calls.h"
#include "ge_server.h"

namespace fs = std::filesystem;
using namespace ge;
using calls::Fact;

namespace {

// An environment variable for as long as a test runs.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Environment() { unsetenv(name_); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* const name_;
};

std::string Linear() { return fixture::LinearModel(-1); }

}  // namespace

TEST(Options, go_to_the_level_they_are_written_for_with_the_command_line_as_default) {
  calls::Start();
  Server server(R"(,"ge.exec.staticMemoryPolicy":"2","global.ge.optimizationSwitch":"one:on","session.ge.externalWeight":"1","graph.ge.deterministic":"1")");
  EXPECT_EQ(server.ServeModel(1, Linear(), Config(LINEAR_BATCHES)), "");
  const auto started = calls::Of("GEInitialize");
  EXPECT_EQ(started.size(), 1U);
  EXPECT_EQ(calls::Facts(started[0]), "ge.exec.staticMemoryPolicy=2 ge.graphRunMode=0 ge.optimizationSwitch=one:on");
  const auto sessions = calls::Of("Session");
  EXPECT_EQ(sessions.size(), 2U);
  EXPECT_EQ(calls::Facts(sessions[0]), "ge.constLifecycle=session ge.externalWeight=1 ge.session_device_id=0");
  EXPECT_EQ(Fact(sessions[1], "ge.session_device_id"), "1");
  EXPECT_EQ(calls::Facts(calls::Of("AddGraph")[0]), "ge.deterministic=1");
  // Per model: another one has its own beside it.
  calls::Start();
  EXPECT_EQ(server.ServeModel(2, Linear(), Config(LINEAR_BATCHES, Parameter("session.ge.externalWeight", "0") + "," + Parameter("graph.ge.deterministic", "0"))), "");
  EXPECT_EQ(calls::Count("GEInitialize"), 0U);
  EXPECT_EQ(Fact(calls::Of("Session")[0], "ge.externalWeight"), "0");
  EXPECT_EQ(Fact(calls::Of("AddGraph")[0], "ge.deterministic"), "0");
}

TEST(Options, of_a_model_win_over_a_default_of_a_narrower_level) {
  Server server(R"(,"session.ge.exec.precision_mode_v2":"origin","graph.ge.deterministic":"1")");
  calls::Start();
  EXPECT_EQ(server.ServeModel(1, Linear(), Config(LINEAR_BATCHES, Parameter("ge.exec.precision_mode_v2", "mixed_float16") + "," + Parameter("session.ge.deterministic", "0"))), "");
  EXPECT_CONTAINS(server.report(), R"("precision":"mixed_float16")");
  EXPECT_EQ(Fact(calls::Of("GEInitialize")[0], "ge.exec.precision_mode_v2"), "mixed_float16");
  EXPECT_EQ(Fact(calls::Of("Session")[0], "ge.exec.precision_mode_v2"), "");
  EXPECT_EQ(Fact(calls::Of("Session")[0], "ge.deterministic"), "0");
  EXPECT_EQ(Fact(calls::Of("AddGraph")[0], "ge.deterministic"), "");
}

TEST(Options, of_the_environment_are_stronger_than_all_others_of_the_process) {
  Server server(R"(,"ge.exec.staticMemoryPolicy":"2")");
  const std::string config = Config(LINEAR_BATCHES, Parameter("ge.aicoreNum", "8|8"));
  {
    const Environment own("GE_NPU_CONFIG", R"({"ge.aicoreNum": "12|10", "global.ge.exec.staticMemoryPolicy": 4})");
    calls::Start();
    EXPECT_EQ(server.ServeModel(1, Linear(), config), "");
    EXPECT_EQ(Fact(calls::Of("GEInitialize")[0], "ge.aicoreNum"), "12|10");
    EXPECT_EQ(Fact(calls::Of("GEInitialize")[0], "ge.exec.staticMemoryPolicy"), "4");
    EXPECT_CONTAINS(server.report(), "Core limit (ge.aicoreNum): 12|10");
    EXPECT_EQ(server.Unload(1), "");
  }
  for (const auto& [text, part] : {std::pair{"{ge.aicoreNum", "The environment variable GE_NPU_CONFIG is no JSON"}, {"[]", "GE_NPU_CONFIG has to be a JSON object with options of GE"},
                                   {R"({"ge.inputShape": "x:1"})", "'ge.inputShape' acts on the session (session.) or the graph (graph.), not on the process (ge.)"}}) {
    const Environment wrong("GE_NPU_CONFIG", text);
    EXPECT_CONTAINS(server.LoadModel(2, Linear(), config), part);
  }
  EXPECT_EQ(server.ServeModel(3, Linear(), config), "");
  EXPECT_CONTAINS(server.report(), "Core limit (ge.aicoreNum): 8|8");
}

TEST(Options, switch_dumps_and_profiles_on_where_ge_reads_them) {
  Server server(R"(,"dump_data":"1")");
  calls::Start();
  EXPECT_EQ(server.ServeModel(1, Linear(), Config(LINEAR_BATCHES, Parameter("dump_graph", "1") + "," + Parameter("profiling", "true"))), "");
  const auto started = calls::Of("GEInitialize")[0];
  EXPECT_EQ(Fact(started, "env:DUMP_GE_GRAPH"), "2");
  EXPECT_EQ(Fact(started, "env:DUMP_GRAPH_LEVEL"), "2");
  EXPECT_EQ(Fact(started, "env:DUMP_GRAPH_PATH"), WorkDirectory() + "/dump_graph");
  EXPECT_EQ(Fact(started, "ge.exec.profilingMode"), "1");
  EXPECT_CONTAINS(Fact(started, "ge.exec.profilingOptions"), R"("output":")" + WorkDirectory() + "/profiling\"");
  const auto session = calls::Of("Session")[0];
  EXPECT_EQ(Fact(session, "ge.exec.enableDump"), "1");
  EXPECT_EQ(Fact(session, "ge.exec.dumpPath"), WorkDirectory() + "/dump_data/m1");
  EXPECT_EQ(Fact(session, "ge.exec.dumpMode"), "all");
  // GE makes no folders.
  for (const char* folder : {"/dump_graph", "/dump_data/m1", "/profiling"}) EXPECT(fs::is_directory(WorkDirectory() + folder));
  EXPECT_CONTAINS(server.report(), "GE writes its graphs to " + WorkDirectory() + "/dump_graph");
  EXPECT_CONTAINS(server.report(), "which slows it down");
  EXPECT_CONTAINS(server.report(), "GE records a profile into " + WorkDirectory() + "/profiling");
  // What acts on the process acts on a model beside it, which says so; the rest is the first one's alone.
  EXPECT_EQ(server.ServeModel(2, Linear(), Config(LINEAR_BATCHES, Parameter("dump_data", "0"))), "");
  EXPECT_EQ(Fact(calls::Of("Session").back(), "ge.exec.enableDump"), "");
  EXPECT_CONTAINS(server.report(), "DUMP_GE_GRAPH = 2 acts here too: another model set it for the whole process");
  EXPECT_EQ(server.Unload(1), "");
  EXPECT_EQ(server.Unload(2), "");
  calls::Start();
  EXPECT_EQ(server.ServeModel(3, Linear(), Config(LINEAR_BATCHES, Parameter("dump_data", "0") + "," + Parameter("profiling", "dynamic"))), "");
  const auto again = calls::Of("GEInitialize")[0];
  EXPECT_EQ(Fact(again, "env:PROFILING_MODE"), "dynamic");
  EXPECT_EQ(Fact(again, "env:DUMP_GE_GRAPH"), "");
  EXPECT_EQ(Fact(again, "ge.exec.profilingMode"), "");
  EXPECT_CONTAINS(server.report(), "GE waits for msprof --dynamic=on");
  EXPECT_CONTAINS(server.LoadModel(4, Linear(), Config(LINEAR_BATCHES, Parameter("profiling", "maybe"))), "profiling is true, dynamic or false, not \"maybe\"");
}

TEST(Options, of_the_environment_of_ge_end_with_what_they_were_set_for) {
  const Environment own("DUMP_GRAPH_LEVEL", "1");
  Server server;
  // Refused by GE itself, when everything was set.
  const std::string refused = server.LoadModel(1, Linear(), Config(LINEAR_BATCHES, Parameter("dump_graph", "1") + "," + Parameter("ge.aicoreNum", "99|99")));
  EXPECT_CONTAINS(refused, "starting the graph engine (GEInitialize) failed");
  EXPECT_CONTAINS(refused, "beyond Ascend910B3, which has 20|40");
  calls::Start();
  EXPECT_EQ(server.ServeModel(2, Linear(), Config(LINEAR_BATCHES)), "");
  EXPECT_EQ(Fact(calls::Of("GEInitialize")[0], "env:DUMP_GE_GRAPH"), "");
  EXPECT_EQ(Fact(calls::Of("GEInitialize")[0], "env:DUMP_GRAPH_LEVEL"), "1");
  // Now GE runs.
  const std::string late = server.LoadModel(3, Linear(), Config(LINEAR_BATCHES, Parameter("dump_graph", "1")));
  EXPECT_CONTAINS(late, "'DUMP_GE_GRAPH' acts on the whole process, and the graph engine runs already for 'm2' without it: GE reads it when it starts. "
                        "Set dump_graph or profiling, which it comes from, for all models on the command line, or unload those models first");
  EXPECT_EQ(server.Unload(2), "");
  EXPECT_EQ(server.ServeModel(4, Linear(), Config(LINEAR_BATCHES, Parameter("dump_graph", "1"))), "");
  EXPECT_EQ(std::string(std::getenv("DUMP_GRAPH_LEVEL")), "2");
  EXPECT_EQ(server.Unload(4), "");
  EXPECT_EQ(server.ServeModel(5, Linear(), Config(LINEAR_BATCHES)), "");
  EXPECT_EQ(std::string(std::getenv("DUMP_GRAPH_LEVEL")), "1");
}

TEST(Options, limit_the_cores_of_a_session_or_of_the_process) {
  Server server;
  calls::Start();
  EXPECT_EQ(server.ServeModel(1, Linear(), Config(LINEAR_BATCHES, LINEAR_GEARS + "," + Parameter("session.ge.aicoreNum", "12|10"))), "");
  EXPECT_EQ(Fact(calls::Of("Session")[0], "ge.aicoreNum"), "12|10");
  EXPECT_CONTAINS(server.report(), "Core limit (ge.aicoreNum): 12|10");
  server.InferLinear(100, fixture::Ramp(4));
  EXPECT_EQ(Fact(calls::Of("run")[0], "cores"), "12|10");
  EXPECT_EQ(server.Unload(1), "");
  calls::Start();
  EXPECT_EQ(server.ServeModel(2, Linear(), Config(LINEAR_BATCHES, LINEAR_GEARS + "," + Parameter("ge.aicoreNum", "7|9"))), "");
  EXPECT_EQ(Fact(calls::Of("GEInitialize")[0], "ge.aicoreNum"), "7|9");
  server.InferLinear(200, fixture::Ramp(4));
  EXPECT_EQ(Fact(calls::Of("run")[0], "cores"), "7|9");
  // A model without a limit has all cores.
  EXPECT_EQ(server.Unload(2), "");
  EXPECT_EQ(server.ServeModel(3, Linear(), Config(LINEAR_BATCHES, LINEAR_GEARS)), "");
  server.InferLinear(300, fixture::Ramp(4));
  EXPECT_EQ(Fact(calls::Of("run").back(), "cores"), "20|40");
}

TEST(Options, fix_the_shapes_of_a_static_graph_in_the_parser) {
  Server server;
  calls::Start();
  const std::string io = R"("input":[{"name":"x","data_type":"TYPE_FP32","dims":["2","4"]}],"output":[{"name":"y","data_type":"TYPE_FP32","dims":["2","3"]}])";
  EXPECT_EQ(server.ServeModel(1, Linear(), Config(io, Parameter("static_model", "1") + "," + Parameter("parser.is_input_adjust_hw_layout", "false"))), "");
  const auto parsed = calls::Of("aclgrphParseONNX")[0];
  EXPECT_EQ(Fact(parsed, "input_shape"), "x:2,4");
  EXPECT_EQ(Fact(parsed, "is_input_adjust_hw_layout"), "false");
  EXPECT_CONTAINS(Fact(parsed, "file"), "/m1/1/model.onnx");
  EXPECT_EQ(server.ServeModel(2, Linear(), Config(LINEAR_BATCHES)), "");
  EXPECT_EQ(Fact(calls::Of("aclgrphParseONNX").back(), "input_shape"), "");
}

TEST(Options, of_the_command_line_name_folders_from_the_root) {
  Server server("", "work");
  EXPECT_CONTAINS(server.LoadModel(1, Linear(), Config(LINEAR_BATCHES)), "--backend-config=npu_ge,work-directory=work has to be an absolute path");
}

TEST(Options, say_where_ge_cannot_write) {
  // GE writes here instead.
  fs::current_path(fixture::Directory());
  fixture::WriteFile(fixture::Directory() + "/file", "");
  Server server("", fixture::Directory() + "/file/work");
  EXPECT_EQ(server.ServeModel(1, Linear(), Config(LINEAR_BATCHES)), "");
  EXPECT_CONTAINS(server.report(), "GE may write files of its own into the server's current directory (the directory " + fixture::Directory() + "/file/work cannot be made");
  EXPECT_CONTAINS(server.report(), "start the server outside of the model repository");
  EXPECT(fs::exists(fixture::Directory() + "/simulated_ge_meta_graph_1.json"));
  EXPECT_CONTAINS(server.LoadModel(2, Linear(), Config(LINEAR_BATCHES, Parameter("dump_graph", "1"))),
                  "GE cannot write to " + fixture::Directory() + "/file/work/dump_graph (Not a directory): set --backend-config=npu_ge,work-directory=DIR");
}
