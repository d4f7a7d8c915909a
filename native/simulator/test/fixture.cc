#include "test/fixture.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "core/onnx.h"
#include "core/settings.h"

namespace fixture {

namespace {

/** Just enough protobuf. */
std::string Varint(uint64_t value) {
  std::string bytes;
  for (; value > 127; value >>= 7) bytes += static_cast<char>((value & 127) | 128);
  return bytes + static_cast<char>(value);
}
std::string Number(uint32_t field, int64_t value) { return Varint(field << 3) + Varint(static_cast<uint64_t>(value)); }
std::string Bytes(uint32_t field, const std::string &content) { return Varint(field << 3 | 2) + Varint(content.size()) + content; }

std::string ValueInfo(const std::string &name, const std::vector<int64_t> &dims) {
  std::string shape;
  int open = 0;
  for (const int64_t dim : dims) {
    shape += Bytes(1, dim < 0 ? Bytes(2, name + std::to_string(open++)) : Number(1, dim));
  }
  return Bytes(1, name) + Bytes(2, Bytes(1, Number(1, 1) + Bytes(2, shape)));
}

std::string FloatTensor(const std::string &name, const std::vector<int64_t> &dims, const std::vector<float> &values) {
  std::string tensor;
  for (const int64_t dim : dims) tensor += Number(1, dim);
  return tensor + Number(2, 1) + Bytes(8, name) + Bytes(9, std::string(reinterpret_cast<const char *>(values.data()), values.size() * 4));
}

std::string Node(const std::string &type, const std::vector<std::string> &inputs, const std::string &output) {
  std::string node;
  for (const std::string &input : inputs) node += Bytes(1, input);
  return node + Bytes(2, output) + Bytes(3, "node-" + output) + Bytes(4, type);
}

std::string Model(const std::string &nodes, const std::string &rest) {
  return Number(1, 8) + Bytes(2, "test") + Bytes(7, nodes + Bytes(2, "graph") + rest) + Bytes(8, Bytes(1, "") + Number(2, 14));
}

}  // namespace

const std::string &Directory() {
  struct Folder {
    std::string path;
    Folder() {
      std::string pattern = std::filesystem::temp_directory_path().string() + "/simulated-npu-test-XXXXXX";
      if (mkdtemp(pattern.data()) == nullptr) std::abort();
      path = pattern;
    }
    ~Folder() {
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    }
  };
  static const Folder folder;
  return folder.path;
}

void WriteFile(const std::string &path, const std::string &content) {
  // Renamed into place, so that a reader never sees half of it.
  static std::atomic<int> number{0};
  const std::string fresh = path + ".new" + std::to_string(number++);
  std::ofstream(fresh, std::ios::binary) << content;
  std::filesystem::rename(fresh, path);
}

void UseCards(const std::vector<std::string> &profiles, const std::string &faults, const std::string &members) {
  std::string cards;
  for (const std::string &profile : profiles) cards += (cards.empty() ? "" : ", ") + ("{\"profile\": \"" + profile + "\"}");
  const std::string path = Directory() + "/settings.json";
  WriteFile(path, "{\"cards\": [" + cards + "], \"onnxruntime\": \"" + TEST_ONNXRUNTIME + "\", \"faults\": [" + faults + "], " + members + "}");
  setenv(simulator::SETTINGS_VARIABLE, path.c_str(), 1);
}

std::string LinearModel(int64_t batch) {
  std::vector<float> weights;
  for (int index = 0; index < 12; index++) weights.push_back(0.1f * static_cast<float>(index) - 0.37f);
  return Model(Bytes(1, Node("MatMul", {"x", "w"}, "product")) + Bytes(1, Node("Add", {"product", "b"}, "y")),
               Bytes(5, FloatTensor("w", {4, 3}, weights)) + Bytes(5, FloatTensor("b", {3}, {0.25f, -1.5f, 3.f})) +
                   Bytes(11, ValueInfo("x", {batch, 4})) + Bytes(12, ValueInfo("y", {batch, 3})));
}

std::string ImageModel(int64_t batch, int64_t height, int64_t width) {
  return Model(Bytes(1, Node("Relu", {"x"}, "y")), Bytes(11, ValueInfo("x", {batch, 3, height, width})) + Bytes(12, ValueInfo("y", {batch, 3, height, width})));
}

std::string SlowModel(int64_t size, int depth) {
  std::string nodes;
  std::string last = "x";
  for (int index = 0; index < depth; index++) {
    const std::string next = index + 1 == depth ? "y" : "t" + std::to_string(index);
    nodes += Bytes(1, Node("MatMul", {last, "x"}, next));
    last = next;
  }
  return Model(nodes, Bytes(11, ValueInfo("x", {size, size})) + Bytes(12, ValueInfo("y", {size, size})));
}

std::vector<float> Reference(const std::string &model, const std::vector<float> &input, const std::vector<int64_t> &dims) {
  std::string error;
  std::vector<float> result;
  const auto session = simulator::OnnxSession::Create(model.data(), model.size(), error);
  std::vector<float> copy = input;
  if (session == nullptr || !session->Run({{copy.data(), copy.size() * 4, dims}}, [&](size_t, const simulator::TensorView &output, std::string &) {
        const auto *values = static_cast<const float *>(output.data);
        result.assign(values, values + output.bytes / 4);
        return true;
      }, error)) {
    std::cerr << "reference: " << error << "\n";
    std::abort();
  }
  return result;
}

std::vector<float> Ramp(size_t count) {
  std::vector<float> values(count);
  for (size_t index = 0; index < count; index++) values[index] = 0.5f + 0.75f * static_cast<float>(index);
  return values;
}

}  // namespace fixture
