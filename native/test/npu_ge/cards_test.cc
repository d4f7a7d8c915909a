// On which cards and streams npu_ge runs, for device_ids, groups of KIND_GPU and blocks; and that work is shared out by what each card has before it.
#include <memory>

#include "calls.h"
#include "ge_server.h"

using namespace ge;
using calls::Fact;
using rig::Bytes;

namespace {

std::string Gpu(const char* count, const char* cards) { return std::string(R"({"count":)") + count + R"(,"kind":"KIND_GPU","gpus":[)" + cards + "]}"; }

Request& FillLinear(Request& request, std::size_t rows) {
  return request.Raw("x", TRITONSERVER_TYPE_FP32, {static_cast<std::int64_t>(rows), 4}, BytesOf(fixture::Ramp(4 * rows))).Output("y");
}

}  // namespace

TEST(Cards, of_instance_groups_and_not_others) {
  Server server;
  calls::Start();
  EXPECT_EQ(server.LoadModel(1, fixture::LinearModel(-1), Config(LINEAR_BATCHES, "", Gpu("2", "1"))), "");
  EXPECT_EQ(server.Add(100, 1), "");
  EXPECT_EQ(server.Add(101, 1), "");
  EXPECT_EQ(calls::Count("Session", 0), 0U);
  EXPECT_EQ(calls::Count("Session", 1), 2U);
  EXPECT_CONTAINS(server.report(), R"("devices":[1])");
  for (int index = 0; index < 4; ++index) EXPECT_EQ(Floats(Bytes(*server.InferLinear(100, fixture::Ramp(4)), "y")), npu::Linear(fixture::Ramp(4)));
  EXPECT_EQ(calls::Count("run", 0), 0U);
  EXPECT_EQ(calls::Count("run", 1), 4U);
  EXPECT_CONTAINS(server.Add(102, 0), "belongs to card 0, which device_ids does not name");
}

TEST(Cards, have_the_streams_that_their_instances_need) {
  Server server;
  calls::Start();
  // Two instances on card 0 and three on card 1, not five on each.
  EXPECT_EQ(server.LoadModel(1, fixture::LinearModel(-1), Config(LINEAR_BATCHES, LINEAR_GEARS, Gpu("2", "0") + "," + Gpu("3", "1"))), "");
  EXPECT_EQ(server.Add(100, 0), "");
  EXPECT_EQ(server.Add(101, 1), "");
  for (const int device : {0, 1}) EXPECT_EQ(calls::Count("LoadGraph", device), 3U);
  // Each instance keeps to its card, also while the other one has nothing to do.
  for (int index = 0; index < 3; ++index) EXPECT(!server.InferLinear(101, fixture::Ramp(4))->has_error);
  EXPECT_EQ(calls::Count("run", 0), 0U);
  EXPECT_EQ(calls::Count("run", 1), 3U);
  EXPECT_CONTAINS(server.report(), R"("device":1)");
  // A group that names no card has its instances on each.
  calls::Start();
  EXPECT_EQ(server.LoadModel(2, fixture::LinearModel(-1), Config(LINEAR_BATCHES, LINEAR_GEARS, R"({"count":2,"kind":"KIND_GPU"})")), "");
  EXPECT_EQ(server.Add(200, 0), "");
  for (const int device : {0, 1}) EXPECT_EQ(calls::Count("LoadGraph", device), 2U);
  // Instances that are bound to no card: as many as there are times their blocks, over the cards, rounded up.
  calls::Start();
  EXPECT_EQ(server.ServeModel(3, fixture::LinearModel(-1), Config(LINEAR_BATCHES, Parameter("instance_exec_blocks", "3"), R"({"count":1,"kind":"KIND_CPU"},{"count":2})")), "");
  for (const int device : {0, 1}) EXPECT_EQ(calls::Count("LoadGraph", device), 5U);
  calls::Start();
  EXPECT_EQ(server.ServeModel(4, fixture::LinearModel(-1), Config(LINEAR_BATCHES, Parameter("instance_exec_blocks", "3") + "," + Parameter("device_exec_blocks", "1"))), "");
  for (const int device : {0, 1}) EXPECT_EQ(calls::Count("LoadGraph", device), 1U);
}

TEST(Cards, share_a_session_or_have_one_per_stream) {
  Server server;
  const auto sessions = [&](std::uint64_t token, const std::string& parameters) {
    calls::Start();
    EXPECT_EQ(server.ServeModel(token, fixture::LinearModel(-1), Config(LINEAR_BATCHES, Parameter("device_ids", "0") + "," + Parameter("device_exec_blocks", "3") + parameters)), "");
    EXPECT_EQ(calls::Streams(calls::Of("LoadGraph")), 3U);
    return calls::Count("Session");
  };
  EXPECT_EQ(sessions(1, ""), 3U);
  EXPECT_EQ(sessions(2, "," + LINEAR_GEARS), 1U);
  EXPECT_EQ(sessions(3, "," + Parameter("sessions", "card")), 1U);
  EXPECT_EQ(sessions(4, "," + LINEAR_GEARS + "," + Parameter("sessions", "stream")), 3U);
}

TEST(Cards, run_the_rows_of_one_batch_on_several_streams) {
  Server server;
  EXPECT_EQ(server.ServeModel(1, fixture::LinearModel(-1),
                              Config(LINEAR_BATCHES, LINEAR_GEARS + "," + Parameter("device_ids", "1") + "," + Parameter("instance_exec_blocks", "2"))), "");
  calls::Start();
  UseFaults(R"({"kind":"hang","phase":"run"})");
  Request request(1);
  server.Send(100, FillLinear(request, 4));
  // Both at once.
  calls::Wait("two runs that have begun", [] { return calls::Count("run") == 2; });
  EXPECT_EQ(calls::Count("run done"), 0U);
  UseFaults("");
  EXPECT_EQ(Floats(Bytes(*server.Answer(request), "y")), npu::Linear(fixture::Ramp(16)));
  const auto runs = calls::Of("run");
  EXPECT_EQ(calls::Streams(runs), 2U);
  for (const auto& run : runs) EXPECT_EQ(Fact(run, "inputs"), "[2,4]");
}

// Also where a block has only just begun, or has only just told of the end of its last job: none waits behind another's run.
TEST(Cards, run_rows_on_all_streams_however_soon_they_come) {
  Server server;
  EXPECT_EQ(server.ServeModel(1, fixture::LinearModel(-1),
                              Config(LINEAR_BATCHES, LINEAR_GEARS + "," + Parameter("device_ids", "1") + "," + Parameter("instance_exec_blocks", "4"))), "");
  calls::Start();
  for (std::size_t round = 1; round <= 10; ++round) {
    Request request(round);
    UseFaults(R"({"kind":"hang","phase":"run"})");
    server.Send(100, FillLinear(request, 4));
    calls::Wait("four more runs that have begun", [round] { return calls::Count("run") == 4 * round; });
    UseFaults("");
    EXPECT_EQ(Floats(Bytes(*server.Answer(request), "y")), npu::Linear(fixture::Ramp(16)));
  }
  EXPECT_EQ(calls::Streams(calls::Of("run")), 4U);
}

TEST(Cards, get_requests_by_the_work_before_them_also_of_mixed_shapes) {
  Server server;
  const std::string gears = Parameter("graph.ge.inputShape", "x:-1,3,-1,-1") + "," + Parameter("graph.ge.dynamicDims", "1,8,8;1,256,256");
  const std::string io = R"("max_batch_size":1,"input":[{"name":"x","data_type":"TYPE_FP32","dims":["3","-1","-1"]}],"output":[{"name":"y","data_type":"TYPE_FP32","dims":["3","-1","-1"]}])";
  EXPECT_EQ(server.ServeModel(1, fixture::ImageModel(-1, -1, -1), Config(io, gears + "," + Parameter("device_exec_blocks", "1")), 5), "");
  calls::Start();
  UseFaults(R"({"kind":"hang","phase":"run"})");
  const auto image = [](Request& request, std::int64_t side) -> Request& {
    return request.Raw("x", TRITONSERVER_TYPE_FP32, {1, 3, side, side}, BytesOf(fixture::Ramp(static_cast<std::size_t>(3 * side * side)))).Output("y");
  };
  // A request has its inputs in pinned memory from when its card is chosen, and one that runs by itself has it for the outputs as well.
  const auto wait_for_memory = [](std::size_t count) { calls::Wait("all are shared out", [count] { return calls::Count("aclrtMallocHost") == count; }); };
  Request large(1);
  server.Send(100, image(large, 256));
  wait_for_memory(2);
  std::vector<std::unique_ptr<Request>> small;
  for (std::uint64_t index = 1; index <= 4; ++index) {
    small.push_back(std::make_unique<Request>(1 + index));
    server.Send(100 + index, image(*small.back(), 8));
    wait_for_memory(index + 3);
  }
  UseFaults("");
  for (const auto& request : small) EXPECT_EQ(Floats(Bytes(*server.Answer(*request), "y")), fixture::Ramp(192));
  EXPECT(!server.Answer(large)->has_error);
  // One request to each in turn, or to the card with the fewest, would have sent small ones behind the large one.
  EXPECT_EQ(calls::Count("run"), 5U);
  int busy = -1;
  for (const auto& run : calls::Of("run")) {
    if (Fact(run, "inputs") == "[1,3,256,256]") busy = run.device;
  }
  EXPECT_EQ(calls::Count("run", busy), 1U);
  EXPECT_EQ(calls::Count("run", 1 - busy), 4U);
}
