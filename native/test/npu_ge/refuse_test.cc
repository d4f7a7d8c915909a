// What npu_ge refuses, with a sentence, and that nothing of it stays behind.
#include "ge_server.h"
#include "model_files.h"

using namespace ge;

TEST(Refuse, options_that_do_not_go_together) {
  Server server(R"(,"session.ge.exec.precision_mode_v2":"origin")");
  const std::string batching = R"("max_batch_size":4,)" + LINEAR_IO;
  const auto said = [&](const std::string& parameters, const std::string& rest = "") { return server.LoadModel(1, fixture::LinearModel(-1), Config(rest.empty() ? batching : rest, parameters)); };
  EXPECT_CONTAINS(said(Parameter("graph.ge.exec.precision_mode", "force_fp32")), "exclude each other");
  EXPECT_CONTAINS(said(Parameter("static_model", "1")), "leave max_batch_size out (it is 4)");
  EXPECT_CONTAINS(said(Parameter("static_model", "1"), R"("dynamic_batching":{},)" + batching), "excludes dynamic_batching");
  EXPECT_CONTAINS(said(Parameter("static_model", "1"), R"("max_batch_size":0,"input":[{"name":"x","data_type":"TYPE_FP32","dims":["-1","4"]}],"output":[{"name":"y","data_type":"TYPE_FP32","dims":["-1","3"]}])"),
                  "input 'x' is [-1,4]: write every dimension into dims");
  EXPECT_CONTAINS(said(Parameter("graph.ge.dynamicDims", "1;2")), "ge.inputShape has to say which dimensions");
  EXPECT_CONTAINS(said(Parameter("graph.ge.inputShape", "x:-1,4")), "acts only together with gears");
  EXPECT_CONTAINS(said(Parameter("graph.ge.inputShape", "x:-1,4") + "," + Parameter("graph.ge.dynamicDims", "4")), "names 1 gears, and GE takes 2 to 100");
  EXPECT_CONTAINS(said(Parameter("graph.ge.inputShape", "z:-1,4") + "," + Parameter("graph.ge.dynamicDims", "1;2")), "has to list every input of the model once, and 'x' it does not");
  EXPECT_CONTAINS(said(Parameter("graph.ge.inputShape", "x:-1,4") + "," + Parameter("graph.ge.dynamicDims", "1;2,3")), "the gear \"2,3\" of ge.dynamicDims has 2 numbers");
  EXPECT_CONTAINS(said(Parameter("graph.ge.aicoreNum", "8|8")), "'ge.aicoreNum' acts on the process (ge.) or the session (session.), not on the graph");
  EXPECT_CONTAINS(said(Parameter("session.ge.session_device_id", "1")), "name the cards with device_ids");
  EXPECT_CONTAINS(said(Parameter("device_ids", "0,5")), "wants card 5, and this process sees 2");
  EXPECT_CONTAINS(said(Parameter("device_ids", "0;1")), "device_ids is a list of card numbers");
  EXPECT_CONTAINS(said(Parameter("device_exec_blocks", "0")), "device_exec_blocks");
  EXPECT_CONTAINS(said("", R"("max_batch_size":4,"input":[{"name":"z","data_type":"TYPE_FP32","dims":["4"]}],"output":[{"name":"y","data_type":"TYPE_FP32","dims":["3"]}])"),
                  "has no input 'z': the model file has 'x'");
  EXPECT_CONTAINS(said("", R"("max_batch_size":4,"input":[{"name":"x","data_type":"TYPE_FP32","dims":["5"]}],"output":[{"name":"y","data_type":"TYPE_FP32","dims":["3"]}])"), "[-1,5]");
  EXPECT_CONTAINS(server.LoadModel(2, "no model at all", R"({"name":"m"})"), "is not an ONNX model");
  EXPECT_CONTAINS(server.LoadModel(3, "x", R"({"name":"m"})", "README"), "There is no .onnx file and no frozen TensorFlow .pb file");
  // None of them stands in the way of a good one.
  EXPECT_EQ(server.ServeModel(4, fixture::LinearModel(-1), R"({"name":"m"})"), "");
}

TEST(Refuse, process_options_that_another_model_has_set_otherwise) {
  Server server;
  EXPECT_EQ(server.ServeModel(1, fixture::LinearModel(-1), Config(R"("max_batch_size":4,)" + LINEAR_IO, Parameter("ge.exec.precision_mode_v2", "origin"))), "");
  const std::string said = server.LoadModel(2, fixture::LinearModel(-1), Config(R"("max_batch_size":4,)" + LINEAR_IO, Parameter("ge.exec.precision_mode_v2", "fp16")));
  EXPECT_CONTAINS(said, "'ge.exec.precision_mode_v2' acts on the whole process, and the graph engine runs already for 'm1' with \"origin\", not \"fp16\"");
  EXPECT_CONTAINS(said, "session.ge.exec.precision_mode_v2");
  EXPECT_EQ(server.Unload(1), "");
  // Nobody uses it: it is started anew with the other value.
  EXPECT_EQ(server.ServeModel(3, fixture::LinearModel(-1), Config(R"("max_batch_size":4,)" + LINEAR_IO, Parameter("ge.exec.precision_mode_v2", "fp16"))), "");
}

TEST(Refuse, what_the_graph_engine_itself_refuses) {
  Server server;
  EXPECT_CONTAINS(server.ServeModel(1, fixture::LinearModel(-1), Config(R"("max_batch_size":4,)" + LINEAR_IO, Parameter("session.ge.aicoreNum", "21|10"))), "beyond Ascend910B3, which has 20|40");
  EXPECT_CONTAINS(server.ServeModel(2, model_files::Model(model_files::Node("NoSuchOperator", {"x"}, "y") + model_files::Input("x", 1, {"batch", "4"}) + model_files::Output("y", 1, {"batch", "3"})),
                                    R"({"name":"m"})"),
                  "reading ");
  EXPECT_EQ(server.ServeModel(3, fixture::LinearModel(-1), R"({"name":"m"})"), "");
}
