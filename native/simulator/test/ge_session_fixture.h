// What the tests of the simulated GE begin with: cards, graphs, tensors, a loaded session. Compiled with the old string ABI like them.
#pragma once

#include <cstring>
#include <map>
#include <vector>

#include "acl/acl.h"
#include "ge/ge_api.h"
#include "parser/onnx_parser.h"
#include "test/check.h"
#include "test/ge_fixture.h"

namespace ge_fixture {

using Options = std::map<ge::AscendString, ge::AscendString>;

inline bool Says(const char *part) { return std::strstr(ge::GEGetErrorMsgV2().GetString(), part) != nullptr; }

inline void StartGe(const Options &options = {}, const char *profile = "910B3") {
  ge_fixture::UseCards(profile);
  CHECK_EQ(aclInit(nullptr), ACL_SUCCESS);
  CHECK_EQ(ge::GEInitialize(options), ge::SUCCESS);
}

inline ge::Graph Parse(const std::vector<char> &onnx, const Options &params = {}) {
  ge::Graph graph("test");
  CHECK_EQ(ge::aclgrphParseONNXFromMem(onnx.data(), onnx.size(), params, graph), ge::GRAPH_SUCCESS);
  return graph;
}

inline gert::Tensor DeviceTensor(void *address, const std::vector<int64_t> &dims) {
  gert::Shape shape;
  for (const int64_t dim : dims) shape.AppendDim(dim);
  return gert::Tensor(gert::StorageShape(shape, shape), gert::StorageFormat(ge::FORMAT_ND, ge::FORMAT_ND, {}), gert::kOnDeviceHbm, ge::DT_FLOAT, address);
}

inline void *Upload(const std::vector<float> &values) {
  void *memory = nullptr;
  CHECK_EQ(aclrtMalloc(&memory, values.size() * 4, ACL_MEM_MALLOC_NORMAL_ONLY), ACL_SUCCESS);
  CHECK_EQ(aclrtMemcpy(memory, values.size() * 4, values.data(), values.size() * 4, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
  return memory;
}

inline std::vector<float> Download(const void *memory, size_t count) {
  std::vector<float> values(count);
  CHECK_EQ(aclrtMemcpy(values.data(), count * 4, memory, count * 4, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
  return values;
}

inline ge::Tensor HostTensor(const std::vector<float> &values, const std::vector<int64_t> &dims) {
  return ge::Tensor(ge::TensorDesc(ge::Shape(dims)), reinterpret_cast<const uint8_t *>(values.data()), values.size() * 4);
}

inline std::vector<float> Values(const ge::Tensor &tensor) {
  const float *data = reinterpret_cast<const float *>(tensor.GetData());
  return std::vector<float>(data, data + tensor.GetSize() / 4);
}

/** Session, graph and stream in the order that works on real cards. */
struct Loaded {
  ge::Session session;
  aclrtStream stream = nullptr;
  explicit Loaded(const std::vector<char> &onnx, const Options &options = {}, const Options &graphOptions = {}) : session(options) {
    CHECK_EQ(session.AddGraph(1, Parse(onnx), graphOptions), ge::SUCCESS);
    CHECK_EQ(session.CompileGraph(1), ge::SUCCESS);
    CHECK_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    CHECK_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
    CHECK_EQ(session.LoadGraph(1, {}, stream), ge::SUCCESS);
  }
};

}  // namespace ge_fixture
