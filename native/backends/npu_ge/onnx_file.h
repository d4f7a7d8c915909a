// What an ONNX file says of its inputs and outputs. Walks the file's protobuf records by position, so that weights are passed over unread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "triton/core/tritonbackend.h"

namespace npu_console::npu_ge {

// A dimension: its size, or its name where it is open ("" where it is open and has none). Names may be arithmetic of other names: dim_expression.h.
struct Dimension {
  std::int64_t size = -1;
  std::string name;
  bool is_open() const { return size < 0; }
};

struct TensorSignature {
  std::string name;
  TRITONSERVER_DataType datatype = TRITONSERVER_TYPE_INVALID;
  int element_type = 0;  // as ONNX numbers them
  bool has_shape = false;
  std::vector<Dimension> dims;
  std::vector<std::int64_t> shape() const;  // -1: open
};

struct ModelSignature {
  std::vector<TensorSignature> inputs, outputs;  // in the graph's order, which is the order in which GE wants them
};

// @throws kit::Error INVALID_ARG for a file that is no ONNX model or is cut off, UNAVAILABLE for one that cannot be read
ModelSignature ReadOnnxFile(const std::filesystem::path& path);

// GE's number of an element type, which is AscendCL's. @throws kit::Error UNSUPPORTED for strings, which a card does not take
std::int32_t GeTypeOf(TRITONSERVER_DataType datatype);

}  // namespace npu_console::npu_ge
