// What npu_ge's streams do beside each other, in which order it calls CANN, what memory it takes, and that it gives everything back. By the order of events: no times.
#include <map>
#include <memory>
#include <set>

#include "calls.h"
#include "ge_server.h"
#include "model_files.h"

using namespace ge;
using calls::Fact;
using rig::Bytes;

namespace {

std::string OneStream(const std::string& more = "") {
  return Parameter("device_ids", "0") + "," + Parameter("device_exec_blocks", "1") + (more.empty() ? "" : "," + more);
}

}  // namespace

TEST(Streams, copy_for_the_next_run_and_for_the_last_beside_the_one_that_goes_on) {
  Server server;
  EXPECT_EQ(server.ServeModel(1, fixture::LinearModel(-1), Config(LINEAR_BATCHES, OneStream(LINEAR_GEARS)), 4), "");
  calls::Start();
  const auto hang_in = [](const char* phase) { UseFaults(std::string(R"({"kind":"hang","phase":")") + phase + "\"}"); };
  std::vector<std::unique_ptr<Request>> requests;
  const auto send = [&](std::uint64_t index) {
    requests.push_back(std::make_unique<Request>(1 + index));
    requests.back()->Raw("x", TRITONSERVER_TYPE_FP32, {1, 4}, BytesOf({static_cast<float>(index), 2, 3, 4})).Output("y");
    server.Send(100 + index, *requests.back());
  };
  // The first runs by itself. The others come to wait behind it.
  hang_in("run");
  send(0);
  calls::Wait("the first run", [] { return calls::Count("run") == 1; });
  for (const std::uint64_t index : {1, 2, 3}) send(index);
  calls::Wait("the others wait with their inputs", [] { return calls::Count("aclrtMallocHost") == 4 + 1; });
  hang_in("copy-out");
  calls::Wait("the outputs of the first", [] { return calls::Count("copy-out") == 1; });
  hang_in("run");
  // While the second runs, the inputs of the third get to the card.
  calls::Wait("the inputs of the third", [] { return calls::Count("copy-in done") == 3; });
  calls::Wait("the second run", [] { return calls::Count("run") == 2; });
  EXPECT_EQ(calls::Count("run done"), 1U);
  hang_in("copy-out");
  // While the outputs of the second go to the host, the third runs.
  calls::Wait("the third run, to its end", [] { return calls::Count("run done") == 3; });
  calls::Wait("the outputs of the second", [] { return calls::Count("copy-out") == 2; });
  EXPECT_EQ(calls::Count("copy-out done"), 1U);
  UseFaults("");
  for (std::uint64_t index = 0; index < 4; ++index) EXPECT_EQ(Floats(Bytes(*server.Answer(*requests[index]), "y")), npu::Linear({static_cast<float>(index), 2, 3, 4}));
  const std::uint64_t running = calls::Of("run")[1].stream, in = calls::Of("copy-in")[2].stream, out = calls::Of("copy-out")[1].stream;
  EXPECT(running != in && running != out && in != out);
}

TEST(Streams, get_their_outputs_into_memory_of_ours_where_the_names_of_dimensions_tell_its_size) {
  Server server;
  EXPECT_EQ(server.ServeModel(1, model_files::Doubled(), Config(R"("max_batch_size":4)", OneStream())), "");
  EXPECT_EQ(server.ServeModel(2, fixture::LinearModel(-1), Config(LINEAR_BATCHES, OneStream())), "");
  calls::Start();
  // The second dimension is open, and the output's is called width*2.
  Request request(1);
  request.Raw("X", TRITONSERVER_TYPE_FP32, {2, 5}, BytesOf(fixture::Ramp(10))).Output("Y");
  EXPECT_EQ(ShapeOf(server.Infer(100, request), "Y"), (Shape{2, 10}));
  EXPECT_EQ(Fact(calls::Of("run")[0], "inputs"), "[2,5]");
  EXPECT_EQ(Fact(calls::Of("run")[0], "outputs"), "of the caller");
  // Names that say nothing of each other.
  EXPECT_EQ(ShapeOf(server.InferLinear(200, fixture::Ramp(8)), "y"), (Shape{2, 3}));
  EXPECT_EQ(Fact(calls::Of("run")[1], "outputs"), "of GE");
}

TEST(Streams, take_their_memory_from_pools) {
  Server server;
  EXPECT_EQ(server.ServeModel(1, fixture::LinearModel(-1), Config(LINEAR_BATCHES, OneStream(LINEAR_GEARS))), "");
  calls::Start();
  EXPECT(!server.InferLinear(100, fixture::Ramp(16))->has_error);
  EXPECT_EQ(calls::Count("aclrtMalloc"), 2U);
  EXPECT_EQ(calls::Count("aclrtMallocHost"), 2U);
  calls::Start();
  for (int index = 0; index < 10; ++index) {
    for (const std::size_t rows : {4U, 2U, 1U}) EXPECT(!server.InferLinear(100, fixture::Ramp(4 * rows))->has_error);
  }
  EXPECT_EQ(calls::Count("run"), 30U);
  for (const char* name : {"aclrtMalloc", "aclrtFree", "aclrtFreeHost", "aclrtCreateStream"}) EXPECT_EQ(calls::Count(name), 0U);
  // A run may begin while the card's thread still lets go of the one before: two sets of host memory then, and never more.
  EXPECT(calls::Count("aclrtMallocHost") <= 2);
}

TEST(Streams, are_made_when_all_graphs_of_the_session_are_compiled) {
  Server server;
  calls::Start();
  EXPECT_EQ(server.ServeModel(1, fixture::LinearModel(-1), Config(LINEAR_BATCHES, LINEAR_GEARS + "," + Parameter("device_ids", "0") + "," + Parameter("device_exec_blocks", "2"))), "");
  EXPECT_EQ(calls::Count("CompileGraph"), 2U);
  // The process holds the card before GE does, and the streams are of the card's default context: a stream of GE's private one would not load (107003).
  EXPECT(calls::First("GEInitialize") < calls::First("aclrtSetDevice"));
  EXPECT(calls::First("aclrtSetDevice") < calls::First("Session"));
  EXPECT(calls::First("Session") < calls::First("AddGraph"));
  EXPECT(calls::First("AddGraph") < calls::First("CompileGraph"));
  EXPECT(calls::Last("CompileGraph") < calls::First("aclrtCreateStream"));
  EXPECT(calls::First("aclrtCreateStream") < calls::First("LoadGraph"));
  EXPECT_EQ(calls::Streams(calls::Of("LoadGraph")), 2U);
}

TEST(Streams, have_let_go_of_their_card_when_an_unload_ends) {
  Server server;
  calls::Start();
  // Many threads and many rounds: each of them could be late.
  for (std::uint64_t round = 1; round <= 10; ++round) {
    EXPECT_EQ(server.ServeModel(round, fixture::LinearModel(-1), Config(LINEAR_BATCHES, LINEAR_GEARS + "," + Parameter("device_ids", "0") + "," + Parameter("device_exec_blocks", "8"))), "");
    EXPECT_EQ(server.Unload(round), "");
    EXPECT_EQ(calls::Count("aclrtSetDevice"), round);
    EXPECT_EQ(calls::Count("aclrtResetDevice"), round);
  }
}

TEST(Streams, end_with_their_graphs_sessions_and_ge_itself) {
  calls::Start();
  {
    Server server;
    EXPECT_EQ(server.ServeModel(1, fixture::LinearModel(-1), Config(LINEAR_BATCHES, Parameter("device_exec_blocks", "2")), 4), "");
    EXPECT_EQ(server.ServeModel(2, fixture::LinearModel(-1), Config(LINEAR_BATCHES, LINEAR_GEARS)), "");
    std::vector<std::unique_ptr<Request>> requests;
    for (std::uint64_t index = 0; index < 12; ++index) {
      requests.push_back(std::make_unique<Request>(1000 + index));
      requests.back()->Raw("x", TRITONSERVER_TYPE_FP32, {1, 4}, BytesOf(fixture::Ramp(4))).Output("y");
      server.Send(100 + index % 4, *requests.back());
    }
    for (const auto& request : requests) EXPECT(!server.Answer(*request)->has_error);
    EXPECT(!server.InferLinear(200, fixture::Ramp(4))->has_error);
    EXPECT_EQ(server.Unload(1), "");
    EXPECT_EQ(calls::Count("~Session"), 4U);
    EXPECT_EQ(calls::Count("GEFinalize"), 0U);
    // The other one is still there.
    EXPECT(!server.InferLinear(200, fixture::Ramp(4))->has_error);
  }
  const auto pair = [](const char* begun, const char* ended) {
    EXPECT(calls::Count(begun) > 0);
    EXPECT_EQ(calls::Count(ended), calls::Count(begun));
  };
  pair("Session", "~Session");
  pair("AddGraph", "RemoveGraph");
  pair("aclrtCreateStream", "aclrtDestroyStream");
  pair("aclrtMalloc", "aclrtFree");
  pair("aclrtMallocHost", "aclrtFreeHost");
  pair("aclrtSetDevice", "aclrtResetDevice");
  pair("GEInitialize", "GEFinalize");
  EXPECT_EQ(calls::Count("aclrtResetDeviceForce"), 0U);
  EXPECT(calls::Last("RemoveGraph") < calls::Last("~Session"));
  EXPECT(calls::Last("aclrtDestroyStream") < calls::Last("~Session"));
  EXPECT(calls::Last("~Session") < calls::Last("aclrtResetDevice"));
  EXPECT(calls::Last("aclrtResetDevice") < calls::First("GEFinalize"));
  // No graph goes while its stream may still work.
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::uint64_t> streams;
  std::set<std::uint64_t> idle;
  for (const auto& call : calls::All()) {
    if (call.name == "LoadGraph") streams[{call.session, call.graph}] = call.stream;
    if (call.name == "run") idle.erase(call.stream);
    if (call.name == "aclrtSynchronizeStream") idle.insert(call.stream);
    if (call.name == "RemoveGraph") EXPECT(idle.contains(streams.at({call.session, call.graph})));
  }
}
