// Cards that fail under npu_ge.
#include "ge_server.h"

using namespace ge;
using rig::Bytes;

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

TEST(Fault, a_load_that_hangs_holds_up_no_load_on_another_card) {
  Server server;
  EXPECT_EQ(server.LoadModel(1, fixture::LinearModel(-1), Config(LINEAR_BATCHES, Parameter("device_ids", "0"))), "");
  UseFaults(R"({"kind":"hang","device":0,"phase":"load"})");
  TritonHostInstanceOptions hanging{};
  hanging.token = 100;
  hanging.model = 1;
  hanging.name = "m_0";
  hanging.kind = TRITONSERVER_INSTANCEGROUPKIND_CPU;
  rig::Must(tritonhost_add_instance(server.host(), &hanging));
  EXPECT_EQ(server.ServeModel(2, fixture::LinearModel(-1), Config(LINEAR_BATCHES, Parameter("device_ids", "1"))), "");
  EXPECT_EQ(Floats(Bytes(*server.InferLinear(200, fixture::Ramp(4)), "y")), Linear(fixture::Ramp(4)));
  UseFaults("");
  // On a slow machine the heartbeat was lost meanwhile: then it says so.
  const std::string said = Said(server.Wait(TRITONHOST_EVENT_INSTANCE_INITIALIZED, 100));
  if (!said.empty()) EXPECT_CONTAINS(said, "device 0");
}
