// What npu_ge tells of a model that runs: the facts of "runs on".
#include <map>

#include "ge_server.h"
#include "shared/json.h"

using namespace ge;
using npu_console::Json;

namespace {

Json Report(const Server& server) {
  Json report;
  std::string problem;
  if (!Json::Parse(server.report(), report, problem)) throw std::runtime_error("the report is no JSON: " + problem + ": " + server.report());
  return report;
}

}  // namespace

TEST(Report, of_a_graph_of_free_shapes) {
  Server server;
  EXPECT_EQ(server.ServeModel(1, fixture::LinearModel(-1), Config(LINEAR_BATCHES, Parameter("device_exec_blocks", "2"))), "");
  const Json report = Report(server);
  EXPECT_EQ(report["runs_on"].String(""), "npu");
  EXPECT(report["simulated"].Boolean(false));
  EXPECT_EQ(report["chip"].String(""), "Ascend910B3");
  EXPECT_EQ(report["precision"].String(""), "fp16");
  EXPECT_EQ(report["graph"].String(""), "dynamic");
  EXPECT_EQ(report["device"].Integer(-1), 0);
  EXPECT_EQ(report["devices"].IntegerItems(), (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(report["streams"].Integer(0), 4);
  // A session for each stream: the weights lie there four times.
  EXPECT_EQ(report["weight_bytes"].Integer(0), static_cast<std::int64_t>(4 * fixture::LinearModel(-1).size()));
  EXPECT_EQ(report["workspace_bytes"].Integer(-1), 0);
  EXPECT(report["memory_is_shared"].Boolean(false));
  EXPECT(!report.Has("gears"));
}

TEST(Report, of_gears_and_of_a_static_graph) {
  Server server;
  EXPECT_EQ(server.ServeModel(1, fixture::LinearModel(-1),
                              Config(LINEAR_BATCHES, LINEAR_GEARS + "," + Parameter("device_ids", "1") + "," + Parameter("device_exec_blocks", "2") + "," +
                                                         Parameter("session.ge.exec.precision_mode_v2", "origin"))),
            "");
  const Json gears = Report(server);
  EXPECT_EQ(gears["graph"].String(""), "gears");
  EXPECT_EQ(gears["precision"].String(""), "origin");
  EXPECT_EQ(gears["gears"].Write(), R"(["1","2","4"])");
  EXPECT_EQ(gears["devices"].IntegerItems(), (std::vector<std::int64_t>{1}));
  EXPECT_EQ(gears["streams"].Integer(0), 2);
  // One session for the card: its streams share the weights, and each has a workspace.
  EXPECT_EQ(gears["weight_bytes"].Integer(0), static_cast<std::int64_t>(fixture::LinearModel(-1).size()));
  const std::int64_t workspace = gears["workspace_bytes"].Integer(0);
  EXPECT(workspace > 0 && workspace % 2 == 0);

  const std::string io = R"("input":[{"name":"x","data_type":"TYPE_FP32","dims":["2","4"]}],"output":[{"name":"y","data_type":"TYPE_FP32","dims":["2","3"]}])";
  EXPECT_EQ(server.ServeModel(2, fixture::LinearModel(-1), Config(io, Parameter("static_model", "1") + "," + Parameter("graph.ge.exec.precision_mode", "force_fp32"))), "");
  const Json fixed = Report(server);
  EXPECT_EQ(fixed["graph"].String(""), "static");
  EXPECT_EQ(fixed["precision"].String(""), "force_fp32");
  EXPECT(fixed["workspace_bytes"].Integer(0) > 0);
}

TEST(Report, of_the_memory_on_each_card) {
  Server server;
  const auto reported = [&] {
    std::map<std::int64_t, std::uint64_t> bytes;
    const EventPtr event = server.Wait(TRITONHOST_EVENT_MEMORY_USAGE, 1);
    for (std::uint32_t index = 0; index < event->usage_count; ++index) {
      EXPECT(event->usages[index].memory_type == TRITONSERVER_MEMORY_GPU);
      bytes[event->usages[index].memory_type_id] += event->usages[index].byte_size;
    }
    return bytes;
  };
  EXPECT_EQ(server.ServeModel(1, fixture::LinearModel(-1), Config(LINEAR_BATCHES, LINEAR_GEARS)), "");
  const auto loaded = reported();
  const Json report = Report(server);
  EXPECT_EQ(loaded.size(), 2U);
  EXPECT_EQ(loaded.at(0), loaded.at(1));
  EXPECT_EQ(static_cast<std::int64_t>(loaded.at(0) + loaded.at(1)), report["weight_bytes"].Integer(0) + report["workspace_bytes"].Integer(0));
  EXPECT_EQ(server.Unload(1), "");
  EXPECT(reported().empty());
}

TEST(Report, warns_of_too_many_streams) {
  Server server;
  EXPECT_EQ(server.ServeModel(1, fixture::LinearModel(-1), Config(LINEAR_BATCHES, LINEAR_GEARS + "," + Parameter("device_ids", "0") + "," + Parameter("device_exec_blocks", "9"))), "");
  EXPECT_CONTAINS(server.report(), "9 streams on a card: more than 8 make the slowest requests slower (device_exec_blocks)");
  EXPECT_CONTAINS(server.report(), "Batches between two gears are padded to the next one");
}
