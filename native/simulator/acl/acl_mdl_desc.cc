// The simulated libacl_mdl.so: what a model's inputs, outputs and gears are.
#include <algorithm>
#include <cstring>

#include "acl/acl_mdl.h"
#include "acl/model_types.h"

using namespace simulator;

namespace {

/** The name that fits into aclmdlIODims: a long one is replaced. */
std::string ShortName(const std::string &name, uint32_t id, const char *side, size_t index) {
  if (name.size() < ACL_MAX_TENSOR_NAME_LEN) return name;
  return "acl_modelId_" + std::to_string(id) + "_" + side + "_" + std::to_string(index);
}

void FillDesc(aclmdlDesc &desc, std::shared_ptr<const CompiledModel> model, uint32_t id) {
  desc.model = std::move(model);
  desc.id = id;
  desc.inputNames.clear();
  desc.outputNames.clear();
  for (size_t index = 0; index < desc.model->inputs.size(); index++) {
    desc.inputNames.push_back(ShortName(desc.model->inputs[index].name, id, "input", index));
  }
  if (HasGears(*desc.model)) desc.inputNames.emplace_back(ACL_DYNAMIC_TENSOR_NAME);
  for (size_t index = 0; index < desc.model->outputs.size(); index++) {
    desc.outputNames.push_back(ShortName(desc.model->outputs[index].name, id, "output", index));
  }
}

aclError FillDims(const std::string &name, const std::vector<int64_t> &dims, aclmdlIODims *result) {
  if (dims.size() > ACL_MAX_DIM_CNT) return Fail(ACL_ERROR_INVALID_PARAM, "a tensor has more than 128 dimensions");
  std::memset(result, 0, sizeof *result);
  std::strncpy(result->name, name.c_str(), sizeof result->name - 1);
  result->dimCount = dims.size();
  std::copy(dims.begin(), dims.end(), result->dims);
  return ACL_SUCCESS;
}

/** Takes a gear over into the dataset. `kind` is what the called function is for. */
aclError SetGear(uint32_t modelId, aclmdlDataset *dataset, size_t index, GearKind kind, const std::vector<int64_t> &gear) {
  return Initialized([&]() -> aclError {
    if (dataset == nullptr) return NullArgument("setting a gear");
    std::shared_ptr<RegisteredModel> registered;
    if (const aclError code = FindModel(modelId, registered); code != ACL_SUCCESS) return code;
    const CompiledModel &model = registered->loaded->model();
    if (model.gearKind != kind) return Fail(ACL_ERROR_MODEL_NOT_DYNAMIC, "the model has no gears of this kind");
    if (!IsGearInput(model, index)) return Fail(ACL_ERROR_INVALID_PARAM, std::string("the index is not that of ") + ACL_DYNAMIC_TENSOR_NAME);
    for (size_t variant = 0; variant < model.variants.size(); variant++) {
      // Free dimensions come as all dimensions of all inputs.
      std::vector<int64_t> all;
      for (const auto &shape : model.variants[variant].inputs) all.insert(all.end(), shape.begin(), shape.end());
      if (model.variants[variant].gear != gear && (kind != GearKind::Dims || all != gear)) continue;
      dataset->hasVariant = true;
      dataset->variant = variant;
      const std::lock_guard lock(registered->mutex);
      registered->variant = variant;
      return ACL_SUCCESS;
    }
    return Fail(ACL_ERROR_GE_DYNAMIC_BATCH_SIZE_INVALID, "the model has no such gear");
  });
}

}  // namespace

// --- description

aclmdlDesc *aclmdlCreateDesc() { return new aclmdlDesc(); }

aclError aclmdlDestroyDesc(aclmdlDesc *modelDesc) {
  if (modelDesc == nullptr) return NullArgument("aclmdlDestroyDesc");
  delete modelDesc;
  return ACL_SUCCESS;
}

aclError aclmdlGetDesc(aclmdlDesc *modelDesc, uint32_t modelId) {
  return Initialized([&]() -> aclError {
    if (modelDesc == nullptr) return NullArgument("aclmdlGetDesc");
    std::shared_ptr<RegisteredModel> model;
    if (const aclError code = FindModel(modelId, model); code != ACL_SUCCESS) return code;
    // The description outlives an unload, so it holds the compiled model and not the loaded one.
    FillDesc(*modelDesc, model->loaded->shared(), modelId);
    return ACL_SUCCESS;
  });
}

aclError aclmdlGetDescFromFile(aclmdlDesc *modelDesc, const char *modelPath) {
  if (modelDesc == nullptr) return NullArgument("aclmdlGetDescFromFile");
  std::shared_ptr<CompiledModel> compiled;
  if (const aclError code = ReadModelFile(modelPath, compiled); code != ACL_SUCCESS) return code;
  FillDesc(*modelDesc, std::move(compiled), 0);
  return ACL_SUCCESS;
}

aclError aclmdlGetDescFromMem(aclmdlDesc *modelDesc, const void *model, size_t modelSize) {
  if (modelDesc == nullptr || model == nullptr) return NullArgument("aclmdlGetDescFromMem");
  std::shared_ptr<CompiledModel> compiled;
  if (const aclError code = ReadModel(model, modelSize, compiled); code != ACL_SUCCESS) return code;
  FillDesc(*modelDesc, std::move(compiled), 0);
  return ACL_SUCCESS;
}

size_t aclmdlGetNumInputs(aclmdlDesc *modelDesc) { return modelDesc == nullptr || modelDesc->model == nullptr ? 0 : InputCount(*modelDesc->model); }
size_t aclmdlGetNumOutputs(aclmdlDesc *modelDesc) { return modelDesc == nullptr || modelDesc->model == nullptr ? 0 : modelDesc->model->outputs.size(); }

size_t aclmdlGetInputSizeByIndex(aclmdlDesc *modelDesc, size_t index) {
  if (index >= aclmdlGetNumInputs(modelDesc)) return 0;
  const CompiledModel &model = *modelDesc->model;
  return IsGearInput(model, index) ? GearInputBytes(model) : model.InputBytes(index);
}

size_t aclmdlGetOutputSizeByIndex(aclmdlDesc *modelDesc, size_t index) {
  return index >= aclmdlGetNumOutputs(modelDesc) ? 0 : modelDesc->model->OutputBytes(index);
}

aclError aclmdlGetInputDims(const aclmdlDesc *modelDesc, size_t index, aclmdlIODims *dims) {
  if (modelDesc == nullptr || modelDesc->model == nullptr || dims == nullptr) return NullArgument("aclmdlGetInputDims");
  const CompiledModel &model = *modelDesc->model;
  if (index >= InputCount(model)) return IndexOutside(index);
  if (IsGearInput(model, index)) return FillDims(ACL_DYNAMIC_TENSOR_NAME, {static_cast<int64_t>(model.variants[0].gear.size())}, dims);
  return FillDims(modelDesc->inputNames[index], model.inputs[index].dims, dims);
}

aclError aclmdlGetInputDimsV2(const aclmdlDesc *modelDesc, size_t index, aclmdlIODims *dims) { return aclmdlGetInputDims(modelDesc, index, dims); }

aclError aclmdlGetOutputDims(const aclmdlDesc *modelDesc, size_t index, aclmdlIODims *dims) {
  if (modelDesc == nullptr || modelDesc->model == nullptr || dims == nullptr) return NullArgument("aclmdlGetOutputDims");
  const CompiledModel &model = *modelDesc->model;
  if (index >= model.outputs.size()) return IndexOutside(index);
  return FillDims(modelDesc->outputNames[index], model.IsDynamic() ? model.outputs[index].dims : model.variants[model.LargestVariant()].outputs[index], dims);
}

aclError aclmdlGetCurOutputDims(const aclmdlDesc *modelDesc, size_t index, aclmdlIODims *dims) {
  if (modelDesc == nullptr || modelDesc->model == nullptr || dims == nullptr) return NullArgument("aclmdlGetCurOutputDims");
  const CompiledModel &model = *modelDesc->model;
  if (index >= model.outputs.size()) return IndexOutside(index);
  std::shared_ptr<RegisteredModel> registered;
  if (const aclError code = FindModel(modelDesc->id, registered); code != ACL_SUCCESS) return code;
  if (model.IsDynamic()) return FillDims(modelDesc->outputNames[index], model.outputs[index].dims, dims);
  const std::lock_guard lock(registered->mutex);
  return FillDims(modelDesc->outputNames[index], model.variants[registered->variant].outputs[index], dims);
}

aclError aclmdlGetInputDimsRange(const aclmdlDesc *modelDesc, size_t index, aclmdlIODimsRange *dimsRange) {
  if (modelDesc == nullptr || modelDesc->model == nullptr || dimsRange == nullptr) return NullArgument("aclmdlGetInputDimsRange");
  const CompiledModel &model = *modelDesc->model;
  if (index >= model.inputs.size()) return IndexOutside(index);
  const std::vector<int64_t> &dims = model.inputs[index].dims;
  dimsRange->rangeCount = dims.size();
  for (size_t dim = 0; dim < dims.size(); dim++) {
    int64_t low = dims[dim] < 0 ? 1 : dims[dim];
    int64_t high = dims[dim];
    for (size_t variant = 0; variant < model.variants.size(); variant++) {
      const int64_t value = model.variants[variant].inputs[index][dim];
      low = variant == 0 ? value : std::min(low, value);
      high = std::max(high, value);
    }
    dimsRange->range[dim][0] = low;
    dimsRange->range[dim][1] = high;
  }
  return ACL_SUCCESS;
}

const char *aclmdlGetInputNameByIndex(const aclmdlDesc *modelDesc, size_t index) {
  return modelDesc == nullptr || index >= modelDesc->inputNames.size() ? "" : modelDesc->inputNames[index].c_str();
}

const char *aclmdlGetOutputNameByIndex(const aclmdlDesc *modelDesc, size_t index) {
  return modelDesc == nullptr || index >= modelDesc->outputNames.size() ? "" : modelDesc->outputNames[index].c_str();
}

static aclError IndexByName(const std::vector<std::string> &names, const char *name, size_t *index) {
  for (size_t at = 0; at < names.size(); at++) {
    if (names[at] == name) {
      *index = at;
      return ACL_SUCCESS;
    }
  }
  return Fail(ACL_ERROR_INVALID_PARAM, std::string("the model has no tensor '") + name + "' on this side");
}

aclError aclmdlGetInputIndexByName(const aclmdlDesc *modelDesc, const char *name, size_t *index) {
  return modelDesc == nullptr || name == nullptr || index == nullptr ? NullArgument("aclmdlGetInputIndexByName") : IndexByName(modelDesc->inputNames, name, index);
}

aclError aclmdlGetOutputIndexByName(const aclmdlDesc *modelDesc, const char *name, size_t *index) {
  return modelDesc == nullptr || name == nullptr || index == nullptr ? NullArgument("aclmdlGetOutputIndexByName") : IndexByName(modelDesc->outputNames, name, index);
}

aclDataType aclmdlGetInputDataType(const aclmdlDesc *modelDesc, size_t index) {
  if (modelDesc == nullptr || modelDesc->model == nullptr || index >= InputCount(*modelDesc->model)) return ACL_DT_UNDEFINED;
  return IsGearInput(*modelDesc->model, index) ? ACL_INT32 : modelDesc->model->inputs[index].type;
}

aclDataType aclmdlGetOutputDataType(const aclmdlDesc *modelDesc, size_t index) {
  if (modelDesc == nullptr || modelDesc->model == nullptr || index >= modelDesc->model->outputs.size()) return ACL_DT_UNDEFINED;
  return modelDesc->model->outputs[index].type;
}

aclFormat aclmdlGetInputFormat(const aclmdlDesc *modelDesc, size_t index) {
  if (modelDesc == nullptr || modelDesc->model == nullptr || index >= InputCount(*modelDesc->model)) return ACL_FORMAT_UNDEFINED;
  return !IsGearInput(*modelDesc->model, index) && modelDesc->model->inputs[index].dims.size() == 4 ? ACL_FORMAT_NCHW : ACL_FORMAT_ND;
}

aclFormat aclmdlGetOutputFormat(const aclmdlDesc *modelDesc, size_t index) {
  return modelDesc == nullptr || modelDesc->model == nullptr || index >= modelDesc->model->outputs.size() ? ACL_FORMAT_UNDEFINED : ACL_FORMAT_ND;
}

const char *aclmdlGetTensorRealName(const aclmdlDesc *modelDesc, const char *name) {
  if (modelDesc == nullptr || modelDesc->model == nullptr || name == nullptr) return nullptr;
  const CompiledModel &model = *modelDesc->model;
  for (size_t index = 0; index < model.inputs.size(); index++) {
    if (modelDesc->inputNames[index] == name || model.inputs[index].name == name) return model.inputs[index].name.c_str();
  }
  for (size_t index = 0; index < model.outputs.size(); index++) {
    if (modelDesc->outputNames[index] == name || model.outputs[index].name == name) return model.outputs[index].name.c_str();
  }
  return nullptr;
}

// --- gears

aclError aclmdlGetDynamicBatch(const aclmdlDesc *modelDesc, aclmdlBatch *batch) {
  if (modelDesc == nullptr || modelDesc->model == nullptr || batch == nullptr) return NullArgument("aclmdlGetDynamicBatch");
  const CompiledModel &model = *modelDesc->model;
  batch->batchCount = model.gearKind == GearKind::Batch ? model.variants.size() : 0;
  for (size_t index = 0; index < batch->batchCount; index++) batch->batch[index] = static_cast<uint64_t>(model.variants[index].gear[0]);
  return ACL_SUCCESS;
}

aclError aclmdlGetDynamicHW(const aclmdlDesc *modelDesc, size_t index, aclmdlHW *hw) {
  if (modelDesc == nullptr || modelDesc->model == nullptr || hw == nullptr) return NullArgument("aclmdlGetDynamicHW");
  if (index != static_cast<size_t>(-1)) return Fail(ACL_ERROR_INVALID_PARAM, "the index has to be -1");
  const CompiledModel &model = *modelDesc->model;
  hw->hwCount = model.gearKind == GearKind::Image ? model.variants.size() : 0;
  for (size_t gear = 0; gear < hw->hwCount; gear++) {
    hw->hw[gear][0] = static_cast<uint64_t>(model.variants[gear].gear[0]);
    hw->hw[gear][1] = static_cast<uint64_t>(model.variants[gear].gear[1]);
  }
  return ACL_SUCCESS;
}

aclError aclmdlGetInputDynamicGearCount(const aclmdlDesc *modelDesc, size_t index, size_t *gearCount) {
  if (modelDesc == nullptr || modelDesc->model == nullptr || gearCount == nullptr) return NullArgument("aclmdlGetInputDynamicGearCount");
  if (index != static_cast<size_t>(-1)) return Fail(ACL_ERROR_INVALID_PARAM, "the index has to be -1");
  *gearCount = modelDesc->model->gearKind == GearKind::Dims ? modelDesc->model->variants.size() : 0;
  return ACL_SUCCESS;
}

aclError aclmdlGetInputDynamicDims(const aclmdlDesc *modelDesc, size_t index, aclmdlIODims *dims, size_t gearCount) {
  size_t count = 0;
  if (const aclError code = aclmdlGetInputDynamicGearCount(modelDesc, index, &count); code != ACL_SUCCESS) return code;
  if (dims == nullptr || gearCount < count) return Fail(ACL_ERROR_INVALID_PARAM, "there are " + std::to_string(count) + " gears");
  for (size_t gear = 0; gear < count; gear++) {
    std::vector<int64_t> all;
    for (const auto &shape : modelDesc->model->variants[gear].inputs) all.insert(all.end(), shape.begin(), shape.end());
    if (const aclError code = FillDims("", all, &dims[gear]); code != ACL_SUCCESS) return code;
  }
  return ACL_SUCCESS;
}

aclError aclmdlSetDynamicBatchSize(uint32_t modelId, aclmdlDataset *dataset, size_t index, uint64_t batchSize) {
  return SetGear(modelId, dataset, index, GearKind::Batch, {static_cast<int64_t>(batchSize)});
}

aclError aclmdlSetDynamicHWSize(uint32_t modelId, aclmdlDataset *dataset, size_t index, uint64_t height, uint64_t width) {
  return SetGear(modelId, dataset, index, GearKind::Image, {static_cast<int64_t>(height), static_cast<int64_t>(width)});
}

aclError aclmdlSetInputDynamicDims(uint32_t modelId, aclmdlDataset *dataset, size_t index, const aclmdlIODims *dims) {
  if (dims == nullptr || dims->dimCount > ACL_MAX_DIM_CNT) return NullArgument("aclmdlSetInputDynamicDims");
  return SetGear(modelId, dataset, index, GearKind::Dims, std::vector<int64_t>(dims->dims, dims->dims + dims->dimCount));
}

aclError aclmdlSetInputAIPP(uint32_t, aclmdlDataset *, size_t, const void *) {
  return Fail(ACL_ERROR_FEATURE_UNSUPPORTED, "image preprocessing on the card (AIPP) is not simulated");
}
