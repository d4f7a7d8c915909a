// A chip on which GE does not run.
#include "calls.h"
#include "ge_server.h"

using namespace ge;

TEST(Chip, without_an_online_graph_engine_is_refused_with_the_way_out) {
  Server server;
  fixture::UseCards({"310B1"});
  calls::Start();
  EXPECT_EQ(server.LoadModel(1, fixture::LinearModel(-1), R"({"name":"m"})"),
            R"(The Ascend310B1 has no online graph engine: compile the model to an .om file (atc --soc_version=Ascend310B1) and serve it with backend: "npu_om")");
  // Nothing of GE's was touched.
  EXPECT_EQ(calls::Count("GEInitialize"), 0U);
  EXPECT_EQ(calls::Count("aclrtSetDevice"), 0U);
}
