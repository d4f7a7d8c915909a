// The parts of npu_ge that need no card: arithmetic of dimensions, gears, reading ONNX files.
#include <filesystem>
#include <fstream>

#include "check.h"
#include "common/error.h"
#include "dim_expression.h"
#include "gears.h"
#include "model_files.h"
#include "onnx_file.h"
#include "test/fixture.h"

using namespace npu_console::npu_ge;
using Shapes = std::vector<std::vector<std::int64_t>>;

namespace {

std::string Worked(const std::string& expression) {
  const DimensionSizes known = {{"h", 224}, {"w", 100}, {"batch size", 3}, {"n", 1}};
  const auto value = EvaluateDimension(expression, known);
  return value.has_value() ? std::to_string(*value) : "none";
}

std::string Refused(const std::string& shape, const std::string& dims, const std::vector<std::string>& inputs = {"x"}) {
  try {
    Gears::Parse(shape, dims, inputs, true, 100);
  } catch (const npu_console::kit::Error& error) {
    return error.message();
  }
  return "";
}

}  // namespace

TEST(Parts, works_out_dimensions) {
  EXPECT_EQ(Worked("h"), "224");
  EXPECT_EQ(Worked("batch size"), "3");
  EXPECT_EQ(Worked("h/4 + w*2 - (n + 1)"), "254");
  EXPECT_EQ(Worked("(h - 7)/2 + 1"), "109");
  EXPECT_EQ(Worked("-(n - 2)/2"), "0");
  EXPECT_EQ(Worked("2*(3+4)"), "14");
  for (const char* none : {"", "unknown", "h +", "h/0", "n - 2", "(h", "h)", "h w", "9999999999999999999", "9000000000000000000*h", "h % 2"}) EXPECT_EQ(Worked(none), "none");
  EXPECT_EQ(Worked(std::string(10'000, '(')), "none");
}

TEST(Parts, fits_batches_into_gears) {
  const Gears gears = Gears::Parse("y:-1,2; x:-1,3,-1", "1,1,8;4,4,8;2,2,16;", {"x", "y"}, true, 100);
  EXPECT_EQ(gears.size(), 3U);
  EXPECT_EQ(*gears.Fit({{1, 3, 8}, {1, 2}}), (Shapes{{1, 3, 8}, {1, 2}}));
  EXPECT_EQ(*gears.Fit({{2, 3, 8}, {2, 2}}), (Shapes{{4, 3, 8}, {4, 2}}));
  EXPECT(!gears.Fit({{5, 3, 8}, {5, 2}}).has_value());
  EXPECT(!gears.Fit({{1, 3, 9}, {1, 2}}).has_value());
  EXPECT_EQ(gears.LargestBatch({{9, 3, 16}, {9, 2}}), 2);
  EXPECT_EQ(gears.Texts(), (std::vector<std::string>{"1,1,8", "4,4,8", "2,2,16"}));
  EXPECT_CONTAINS(Refused("x", "1;2"), "lacks a ':'");
  EXPECT_CONTAINS(Refused("x:-1,a", "1;2"), "cannot be read at 'a'");
  EXPECT_CONTAINS(Refused("x:1,3", "1;2"), "has no -1");
  EXPECT_CONTAINS(Refused("x:-1;y:-1", "1,1;2,2"), "lists something that is no input");
  EXPECT_CONTAINS(Refused("x:-1", "0;2"), "cannot be read at '0'");
}

TEST(Parts, reads_what_an_onnx_file_says) {
  using namespace model_files;
  const std::string path = fixture::Directory() + "/signature.onnx";
  const std::string weight = Field(5, Number(1, 2) + Number(2, FLOAT) + Field(8, "w") + Field(9, std::string(8, 'x')));
  fixture::WriteFile(path, Model(weight + Input("x", FLOAT16, {"batch", "3"}) + Input("w", FLOAT, {"2"}) + Output("y", DOUBLE, {"batch", "w/2", "7"})));
  const ModelSignature signature = ReadOnnxFile(path);
  EXPECT_EQ(signature.inputs.size(), 1U);
  EXPECT_EQ(signature.inputs[0].name, "x");
  EXPECT(signature.inputs[0].datatype == TRITONSERVER_TYPE_FP16 && signature.outputs[0].datatype == TRITONSERVER_TYPE_FP64);
  EXPECT_EQ(signature.outputs[0].shape(), (std::vector<std::int64_t>{-1, -1, 7}));
  EXPECT_EQ(signature.outputs[0].dims[1].name, "w/2");
  EXPECT_EQ(GeTypeOf(TRITONSERVER_TYPE_BF16), 27);
  for (const auto& [content, part] : {std::pair<std::string, std::string>{"", "it is empty"}, {Number(1, 8), "it has no graph"}, {std::string("\x3a\x7f", 2), "it is cut off"}}) {
    fixture::WriteFile(path, content);
    std::string said;
    try {
      ReadOnnxFile(path);
    } catch (const npu_console::kit::Error& error) {
      said = error.message();
    }
    EXPECT_CONTAINS(said, part);
  }
}
