// What tests need that run .om files: a simulated atc in one call, and datasets with device buffers.
#pragma once

#include <string>
#include <vector>

#include "acl/acl.h"
#include "core/om_file.h"
#include "test/check.h"
#include "test/fixture.h"

namespace fixture {

/** Compiles and writes an .om file. */
inline std::string MakeOm(const std::string &onnx, const simulator::CompileRequest &request, const std::string &name = "model.om") {
  std::string error;
  const auto model = simulator::Compile(onnx, request, error);
  if (model == nullptr) {
    check::Failed(__FILE__, __LINE__, error);
    return "";
  }
  const std::string path = fixture::Directory() + "/" + name;
  fixture::WriteFile(path, simulator::WriteOm(*model));
  return path;
}

inline simulator::CompileRequest Request(simulator::GearKind kind = simulator::GearKind::None, const std::string &shape = "", const std::string &gears = "") {
  simulator::CompileRequest request;
  request.name = "test";
  request.soc = "Ascend910B3";
  request.inputShape = shape;
  request.gearKind = kind;
  request.gears = gears;
  return request;
}

/** A dataset with device buffers. */
class Buffers {
 public:
  Buffers() : dataset(aclmdlCreateDataset()) {}
  ~Buffers() {
    for (size_t index = 0; index < aclmdlGetDatasetNumBuffers(dataset); index++) {
      aclDataBuffer *buffer = aclmdlGetDatasetBuffer(dataset, index);
      if (aclGetDataBufferAddr(buffer) != nullptr) aclrtFree(aclGetDataBufferAddr(buffer));
      aclDestroyDataBuffer(buffer);
    }
    aclmdlDestroyDataset(dataset);
  }
  Buffers(const Buffers &) = delete;
  Buffers &operator=(const Buffers &) = delete;

  void Add(size_t bytes) {
    void *memory = nullptr;
    CHECK_EQ(aclrtMalloc(&memory, bytes, ACL_MEM_MALLOC_NORMAL_ONLY), ACL_SUCCESS);
    CHECK_EQ(aclmdlAddDatasetBuffer(dataset, aclCreateDataBuffer(memory, bytes)), ACL_SUCCESS);
  }
  void Add(const std::vector<float> &values) {
    Add(values.size() * 4);
    void *memory = aclGetDataBufferAddr(aclmdlGetDatasetBuffer(dataset, aclmdlGetDatasetNumBuffers(dataset) - 1));
    CHECK_EQ(aclrtMemcpy(memory, values.size() * 4, values.data(), values.size() * 4, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
  }
  std::vector<float> Read(size_t count) const {
    std::vector<float> values(count);
    CHECK_EQ(aclrtMemcpy(values.data(), count * 4, aclGetDataBufferAddr(aclmdlGetDatasetBuffer(dataset, 0)), count * 4, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
    return values;
  }

  aclmdlDataset *dataset;
};

}  // namespace fixture
