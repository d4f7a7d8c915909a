// Frozen TensorFlow graphs: how the parser is called. The simulated one refuses every graph, so no number was ever seen; on a card neither, and users are told.
#include "calls.h"
#include "ge_server.h"

using namespace ge;
using calls::Fact;

TEST(Tensorflow, goes_to_its_parser_with_the_shapes_of_the_config) {
  Server server;
  EXPECT_CONTAINS(server.LoadModel(1, "graph", R"({"name":"m"})", "model.pb"), "has to list its inputs and outputs, in the order of the graph: a TensorFlow file does not tell them");
  calls::Start();
  const std::string parameters = Parameter("parser.enable_scope_fusion_passes", "SomePass") + "," + Parameter("device_ids", "1");
  EXPECT_EQ(server.LoadModel(2, "graph", Config(LINEAR_BATCHES, parameters), "frozen.pb"), "");
  server.WaitText(TRITONHOST_EVENT_LOG, "model 'm2': TensorFlow graphs were never run on a card by this backend's makers: check the numbers");
  const std::string said = server.Add(200);
  EXPECT_CONTAINS(said, "/m2/1/frozen.pb for model 'm2' on device 1 failed");
  EXPECT_CONTAINS(said, "TensorFlow models are not simulated: export the model to ONNX");
  const auto parsed = calls::Of("aclgrphParseTensorFlow");
  EXPECT_EQ(parsed.size(), 1U);
  EXPECT_EQ(calls::Facts(parsed[0]), "enable_scope_fusion_passes=SomePass file=" + fixture::Directory() + "/repository/m2/1/frozen.pb input_shape=x:-1,4");
  // GE runs, and the session of the card is open, before the parser is asked; what it refuses leaves nothing behind.
  EXPECT(calls::First("GEInitialize") < calls::First("Session"));
  EXPECT(calls::First("Session") < calls::First("aclgrphParseTensorFlow"));
  EXPECT(calls::First("aclgrphParseTensorFlow") < calls::First("~Session"));
  EXPECT_EQ(calls::Count("Session"), 1U);
  EXPECT_EQ(calls::Count("~Session"), 1U);
  EXPECT_EQ(calls::Count("AddGraph"), 0U);
  EXPECT_EQ(calls::Count("aclgrphParseONNX"), 0U);
  EXPECT_EQ(server.ServeModel(3, fixture::LinearModel(-1), Config(LINEAR_BATCHES)), "");
}

TEST(Tensorflow, of_a_fixed_shape_and_of_several_inputs) {
  Server server;
  const std::string two = R"("input":[{"name":"b","data_type":"TYPE_INT32","dims":["2","-1"]},{"name":"a","data_type":"TYPE_FP32","dims":["4"]}],"output":[{"name":"y","data_type":"TYPE_FP32","dims":["3"]}])";
  calls::Start();
  EXPECT_EQ(server.LoadModel(1, "graph", Config(two), "model.pb"), "");
  EXPECT_CONTAINS(server.Add(100), "TensorFlow");
  // In the order of the config, in which the inputs are given to GE too.
  EXPECT_EQ(Fact(calls::Of("aclgrphParseTensorFlow")[0], "input_shape"), "b:2,-1;a:4");
  EXPECT_EQ(server.LoadModel(2, "graph", Config(LINEAR_IO, Parameter("static_model", "1") + "," + Parameter("parser.input_shape", "x:7,4")), "model.pb"), "");
  EXPECT_CONTAINS(server.Add(200), "TensorFlow");
  // What the model says itself stands.
  EXPECT_EQ(Fact(calls::Of("aclgrphParseTensorFlow").back(), "input_shape"), "x:7,4");
}
