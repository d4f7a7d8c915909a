// A card that one backend resets after a fault takes the models of the other backend with it: they are loaded again before their next batch, which goes well.
#include <string>

#include "card_server.h"

using namespace cards;

namespace {

// `struck` meets a fault that only a reset ends, and resets the card; the requests of `bystander` and its state say nothing of it.
void Meet(CardServer& server, const CardModel& struck, const CardModel& bystander) {
  EXPECT_EQ(server.Infer(bystander), "");
  UseFaults(R"({"kind": "card-lost", "device": 0, "phase": "run", "needsReset": true, "count": 1})");
  EXPECT_CONTAINS(server.Infer(struck), "507901 SOCKET_CLOSE");
  UseFaults("");
  std::string problem;
  EXPECT(server.Recover(struck, 20, problem) >= 0);
  rig::Must(tritonhost_check_instance(server.host(), bystander.token));
  EXPECT_EQ(Said(server.Wait(TRITONHOST_EVENT_INSTANCE_READINESS, bystander.token)), "");
  EXPECT_EQ(server.Infer(bystander), "");
  // And it has done the other no harm.
  EXPECT_EQ(server.Infer(struck), "");
}

}  // namespace

TEST(Reset, costs_the_models_of_the_other_backend_nothing) {
  CardServer server;
  const CardModel om{1, "npu_om", 0}, ge{2, "npu_ge", 0};
  EXPECT_EQ(server.Serve(om), "");
  EXPECT_EQ(server.Serve(ge), "");
  Meet(server, ge, om);
  Meet(server, om, ge);
  // Unloaded without a batch in between, it resets nothing that is not its own.
  UseFaults(R"({"kind": "card-lost", "device": 0, "phase": "run", "needsReset": true, "count": 1})");
  EXPECT_CONTAINS(server.Infer(ge), "507901 SOCKET_CLOSE");
  UseFaults("");
  std::string problem;
  EXPECT(server.Recover(ge, 20, problem) >= 0);
  EXPECT_EQ(server.Unload(om), "");
  EXPECT_EQ(server.Infer(ge), "");
  EXPECT_EQ(server.Unload(ge), "");
  EXPECT_EQ(server.Count(TRITONHOST_EVENT_VIOLATION), 0U);
}
