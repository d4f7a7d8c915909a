// ONNX files written by hand, for tests: just enough protobuf.
#pragma once

#include <cctype>
#include <cstdint>
#include <string>
#include <vector>

namespace model_files {

inline std::string Varint(std::uint64_t value) {
  std::string bytes;
  for (; value > 127; value >>= 7) bytes += static_cast<char>((value & 127) | 128);
  return bytes + static_cast<char>(value);
}
inline std::string Number(std::uint32_t field, std::int64_t value) { return Varint(field << 3) + Varint(static_cast<std::uint64_t>(value)); }
inline std::string Field(std::uint32_t field, const std::string& content) { return Varint(field << 3 | 2) + Varint(content.size()) + content; }

// Dims: a number is fixed, anything else a name.
inline std::string ValueInfo(const std::string& name, int type, const std::vector<std::string>& dims) {
  std::string shape;
  for (const std::string& dim : dims) shape += Field(1, std::isdigit(static_cast<unsigned char>(dim[0])) != 0 && dim.find_first_not_of("0123456789") == std::string::npos
                                                            ? Number(1, std::stoll(dim))
                                                            : Field(2, dim));
  return Field(1, name) + Field(2, Field(1, Number(1, type) + Field(2, shape)));
}
inline std::string Input(const std::string& name, int type, const std::vector<std::string>& dims) { return Field(11, ValueInfo(name, type, dims)); }
inline std::string Output(const std::string& name, int type, const std::vector<std::string>& dims) { return Field(12, ValueInfo(name, type, dims)); }
inline std::string Node(const std::string& type, const std::vector<std::string>& inputs, const std::string& output, const std::string& attributes = "") {
  std::string node;
  for (const std::string& input : inputs) node += Field(1, input);
  return Field(1, node + Field(2, output) + Field(3, "node_" + output) + Field(4, type) + attributes);
}
inline std::string Integer(const std::string& name, std::int64_t value) { return Field(5, Field(1, name) + Number(3, value) + Number(20, 2)); }
inline std::string Model(const std::string& graph) { return Number(1, 8) + Field(7, graph + Field(2, "graph")) + Field(8, Field(1, "") + Number(2, 14)); }

constexpr int FLOAT = 1, UINT8 = 2, INT32 = 6, INT64 = 7, STRING = 8, FLOAT16 = 10, DOUBLE = 11;

// Y = X beside X: twice as wide, and named so.
inline std::string Doubled(int type = FLOAT) {
  return Model(Node("Concat", {"X", "X"}, "Y", Integer("axis", 1)) + Input("X", type, {"batch", "width"}) + Output("Y", type, {"batch", "width*2"}));
}

}  // namespace model_files
