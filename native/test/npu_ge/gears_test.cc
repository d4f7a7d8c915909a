// npu_ge with graphs of fixed shapes: gears and static ones.
#include "ge_server.h"

using namespace ge;
using rig::Bytes;

TEST(Gears, pads_to_the_next_gear_and_splits_what_is_larger) {
  Server server;
  const std::string gears = Parameter("graph.ge.inputShape", "x:-1,4") + "," + Parameter("graph.ge.dynamicDims", "1;2;4");
  EXPECT_EQ(server.ServeModel(1, fixture::LinearModel(-1), Config(R"("max_batch_size":8,)" + LINEAR_IO, gears)), "");
  for (const std::size_t rows : {1U, 2U, 3U, 4U, 7U, 8U}) {
    const EventPtr answer = server.InferLinear(100, fixture::Ramp(4 * rows));
    EXPECT_EQ(ShapeOf(answer, "y"), (Shape{static_cast<std::int64_t>(rows), 3}));
    EXPECT_EQ(Floats(Bytes(*answer, "y")), Linear(fixture::Ramp(4 * rows)));
  }
}

TEST(Gears, names_the_gears_where_none_fits) {
  Server server;
  const std::string gears = Parameter("graph.ge.inputShape", "x:-1,3,-1,-1") + "," + Parameter("graph.ge.dynamicDims", "1,8,8;1,16,16");
  const std::string io = R"("max_batch_size":1,"input":[{"name":"x","data_type":"TYPE_FP32","dims":["3","-1","-1"]}],"output":[{"name":"y","data_type":"TYPE_FP32","dims":["3","-1","-1"]}])";
  EXPECT_EQ(server.ServeModel(1, fixture::ImageModel(-1, -1, -1), Config(io, gears)), "");
  Request fits(1), lost(2);
  fits.Raw("x", TRITONSERVER_TYPE_FP32, {1, 3, 16, 16}, BytesOf(fixture::Ramp(768))).Output("y");
  EXPECT_EQ(Floats(Bytes(*server.Infer(100, fits), "y")), fixture::Ramp(768));
  lost.Raw("x", TRITONSERVER_TYPE_FP32, {1, 3, 9, 8}, BytesOf(fixture::Ramp(216))).Output("y");
  EXPECT_CONTAINS(Said(server.Infer(100, lost)), "the gears of the model are 1,8,8; 1,16,16 (ge.dynamicDims)");
}

TEST(Gears, runs_a_static_graph_of_a_file_with_open_dimensions) {
  Server server;
  const std::string io = R"("max_batch_size":0,"input":[{"name":"x","data_type":"TYPE_FP32","dims":["2","4"]}],"output":[{"name":"y","data_type":"TYPE_FP32","dims":["2","3"]}])";
  EXPECT_EQ(server.ServeModel(1, fixture::LinearModel(-1), Config(io, Parameter("static_model", "1"))), "");
  EXPECT_EQ(Floats(Bytes(*server.InferLinear(100, fixture::Ramp(8)), "y")), Linear(fixture::Ramp(8)));
}
