// The opaque types behind AscendCL's model pointers, and what the functions that describe models share with those that load and run them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "acl/acl_mdl.h"
#include "acl/calls.h"
#include "core/model_registry.h"

using simulator::CompiledModel;

struct aclDataBuffer {
  void *data;
  size_t size;
};

struct aclTensorDesc {
  aclDataType type;
  std::vector<int64_t> dims;
  aclFormat format;
};

struct aclmdlDataset {
  struct Entry {
    aclDataBuffer *buffer;
    std::unique_ptr<aclTensorDesc> desc;
  };
  std::vector<Entry> entries;
  /** What aclmdlSetDynamic... chose; the largest gear otherwise. */
  bool hasVariant = false;
  size_t variant = 0;
};

struct aclmdlDesc {
  std::shared_ptr<const CompiledModel> model;
  uint32_t id = 0;
  std::vector<std::string> inputNames;
  std::vector<std::string> outputNames;
};

namespace simulator {

inline bool HasGears(const CompiledModel &model) { return model.gearKind != GearKind::None; }

/** With the extra input that carries the gear. */
inline size_t InputCount(const CompiledModel &model) { return model.inputs.size() + (HasGears(model) ? 1 : 0); }

inline bool IsGearInput(const CompiledModel &model, size_t index) { return HasGears(model) && index == model.inputs.size(); }

inline size_t GearInputBytes(const CompiledModel &model) { return model.variants[0].gear.size() * sizeof(int32_t); }

inline aclError IndexOutside(size_t index) { return Fail(ACL_ERROR_INVALID_PARAM, "index " + std::to_string(index) + " is outside the model"); }

inline aclError FindModel(uint32_t id, std::shared_ptr<RegisteredModel> &model) {
  model = ModelRegistry::Instance().Find(id);
  return model == nullptr ? Fail(ACL_ERROR_INVALID_MODEL_ID, "model " + std::to_string(id) + " is not loaded") : ACL_SUCCESS;
}

/** Reads an .om file of the simulated atc. @returns the code that fits the damage */
aclError ReadModel(const void *data, size_t bytes, std::shared_ptr<CompiledModel> &model);
aclError ReadModelFile(const char *path, std::shared_ptr<CompiledModel> &model);

}  // namespace simulator
