// The simulated libacl_mdl.so: loads .om files of the simulated atc, describes and runs them.
#include "acl/acl_mdl.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "core/errors.h"
#include "core/model_registry.h"

using namespace simulator;

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

namespace {

Runtime &Rt() { return Runtime::Instance(); }

template <typename Body>
aclError Initialized(Body body) {
  const aclError code = Rt().RequireInitialized();
  return code == ACL_SUCCESS ? body() : code;
}

aclError NullArgument(const char *function) { return Fail(ACL_ERROR_INVALID_PARAM, std::string(function) + " got a null pointer"); }

bool HasGears(const CompiledModel &model) { return model.gearKind != GearKind::None; }

/** With the extra input that carries the gear. */
size_t InputCount(const CompiledModel &model) { return model.inputs.size() + (HasGears(model) ? 1 : 0); }

bool IsGearInput(const CompiledModel &model, size_t index) { return HasGears(model) && index == model.inputs.size(); }

size_t GearInputBytes(const CompiledModel &model) { return model.variants[0].gear.size() * sizeof(int32_t); }

aclError OmFailure(OmProblem problem, const std::string &error) {
  switch (problem) {
    case OmProblem::NotOm: return Fail(ACL_ERROR_PARSE_MODEL, error);
    case OmProblem::Truncated: return Fail(ACL_ERROR_MODEL_SIZE_INVALID, error);
    default: return Fail(ACL_ERROR_DESERIALIZE_MODEL, error);
  }
}

aclError ReadModel(const void *data, size_t bytes, std::shared_ptr<CompiledModel> &model) {
  OmProblem problem = OmProblem::None;
  std::string error;
  model = ReadOm(data, bytes, problem, error);
  return model == nullptr ? OmFailure(problem, error) : ACL_SUCCESS;
}

aclError ReadModelFile(const char *path, std::shared_ptr<CompiledModel> &model) {
  if (path == nullptr) return NullArgument("loading a model");
  std::string content;
  if (!ReadWholeFile(path, content)) return Fail(ACL_ERROR_GE_EXEC_MODEL_PATH_INVALID, std::string("the model file cannot be read: ") + path);
  return ReadModel(content.data(), content.size(), model);
}

aclError LoadModel(std::shared_ptr<const CompiledModel> model, bool takesWork, bool takesWeights, uint32_t *id) {
  Handle context = 0;
  Device *device = nullptr;
  if (const aclError code = Rt().CurrentContext(context); code != ACL_SUCCESS) return code;
  if (const aclError code = Rt().CurrentDevice(device); code != ACL_SUCCESS) return code;
  if (const aclError code = Rt().RequireLink(*device); code != ACL_SUCCESS) return code;
  TaskResult problem;
  auto registered = std::make_shared<RegisteredModel>();
  registered->loaded = LoadedModel::Load(std::move(model), *device, takesWork, takesWeights, problem);
  if (registered->loaded == nullptr) return Fail(problem.code, problem.text);
  registered->context = context;
  registered->variant = registered->loaded->model().LargestVariant();
  *id = ModelRegistry::Instance().Add(std::move(registered));
  return ACL_SUCCESS;
}

aclError FindModel(uint32_t id, std::shared_ptr<RegisteredModel> &model) {
  model = ModelRegistry::Instance().Find(id);
  return model == nullptr ? Fail(ACL_ERROR_INVALID_MODEL_ID, "model " + std::to_string(id) + " is not loaded") : ACL_SUCCESS;
}

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

aclError IndexOutside(size_t index) { return Fail(ACL_ERROR_INVALID_PARAM, "index " + std::to_string(index) + " is outside the model"); }

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

/** All that a run needs, taken from the datasets when it is called. */
struct Launch {
  std::shared_ptr<RegisteredModel> model;
  std::vector<TensorView> inputs;
  std::vector<aclDataBuffer> outputs;
  /** Where the shapes of free outputs are noted; lives until the run is synchronised, as AscendCL asks. */
  aclmdlDataset *output;
  CoreShare cores;
  bool isSynchronous;
};

aclError PrepareInputs(const CompiledModel &model, const aclmdlDataset &input, Launch &launch) {
  const size_t variant = input.hasVariant ? input.variant : model.LargestVariant();
  for (size_t index = 0; index < model.inputs.size(); index++) {
    const aclmdlDataset::Entry &entry = input.entries[index];
    std::vector<int64_t> dims;
    if (!model.IsDynamic()) {
      dims = model.variants[variant].inputs[index];
    } else if (entry.desc != nullptr) {
      dims = entry.desc->dims;
      if (entry.desc->type != model.inputs[index].type) return Fail(ACL_ERROR_GE_DATATYPE_INVALID, "the element type of input " + std::to_string(index) + " is wrong");
    } else if (ElementCount(model.inputs[index].dims) >= 0) {
      dims = model.inputs[index].dims;
    } else {
      return Fail(ACL_ERROR_GE_SHAPE_INVALID, "input " + std::to_string(index) + " has a free shape: call aclmdlSetDatasetTensorDesc");
    }
    const size_t bytes = TensorBytes(model.inputs[index].type, dims);
    if (entry.buffer->size < bytes) {
      return Fail(ACL_ERROR_MODEL_INPUT_NOT_MATCH, "input " + std::to_string(index) + " needs " + std::to_string(bytes) + " bytes, its buffer has " +
                                                       std::to_string(entry.buffer->size));
    }
    launch.inputs.push_back({entry.buffer->data, bytes, std::move(dims)});
  }
  return ACL_SUCCESS;
}

aclError Prepare(uint32_t modelId, const aclmdlDataset *input, aclmdlDataset *output, bool isSynchronous, Launch &launch) {
  if (input == nullptr || output == nullptr) return NullArgument("running a model");
  if (const aclError code = FindModel(modelId, launch.model); code != ACL_SUCCESS) return code;
  Handle context = 0;
  if (const aclError code = Rt().CurrentContext(context); code != ACL_SUCCESS) return code;
  if (context != launch.model->context) return Fail(ACL_ERROR_GE_FAILURE, "the model was loaded in another context than that of this thread");
  const CompiledModel &model = launch.model->loaded->model();
  if (input->entries.size() != InputCount(model)) {
    return Fail(ACL_ERROR_MODEL_INPUT_NOT_MATCH, "the model has " + std::to_string(InputCount(model)) + " inputs, the dataset " + std::to_string(input->entries.size()));
  }
  if (output->entries.size() != model.outputs.size()) {
    return Fail(ACL_ERROR_MODEL_OUTPUT_NOT_MATCH, "the model has " + std::to_string(model.outputs.size()) + " outputs, the dataset " + std::to_string(output->entries.size()));
  }
  if (HasGears(model) && input->entries.back().buffer->size < GearInputBytes(model)) {
    return Fail(ACL_ERROR_MODEL_INPUT_NOT_MATCH, std::string("the buffer of ") + ACL_DYNAMIC_TENSOR_NAME + " is too small");
  }
  if (const aclError code = PrepareInputs(model, *input, launch); code != ACL_SUCCESS) return code;
  const size_t variant = input->hasVariant ? input->variant : model.LargestVariant();
  for (size_t index = 0; index < output->entries.size(); index++) {
    const aclDataBuffer &buffer = *output->entries[index].buffer;
    const bool isFree = model.IsDynamic();
    const bool isOpen = isFree && isSynchronous && buffer.data == nullptr;
    const size_t bytes = isFree ? 0 : TensorBytes(model.outputs[index].type, model.variants[variant].outputs[index]);
    if (!isOpen && (buffer.data == nullptr || buffer.size < bytes)) {
      return Fail(ACL_ERROR_MODEL_OUTPUT_NOT_MATCH, "output " + std::to_string(index) + " needs " + std::to_string(bytes) + " bytes, its buffer has " + std::to_string(buffer.size));
    }
    launch.outputs.push_back(buffer);
  }
  launch.output = output;
  launch.cores = Rt().SharesOf(launch.model->loaded->device(), Rt().LimitStream().get());
  launch.isSynchronous = isSynchronous;
  return ACL_SUCCESS;
}

/** Puts one result where the caller wants it. */
bool StoreOutput(const Launch &launch, size_t index, const TensorView &result, std::string &error) {
  Device &device = launch.model->loaded->device();
  const CompiledModel &model = launch.model->loaded->model();
  void *target = launch.outputs[index].data;
  if (target == nullptr) {
    // Only a synchronous run of free shapes: the system allocates, the caller frees.
    target = Rt().AllocateOn(device, std::max<size_t>(1, result.bytes));
    if (target == nullptr) {
      error = "out of device memory for output " + std::to_string(index);
      return false;
    }
    launch.output->entries[index].buffer->data = target;
    launch.output->entries[index].buffer->size = result.bytes;
  } else if (launch.outputs[index].size < result.bytes) {
    error = "output " + std::to_string(index) + " has " + std::to_string(result.bytes) + " bytes, its buffer " + std::to_string(launch.outputs[index].size);
    return false;
  }
  std::memcpy(target, result.data, result.bytes);
  if (model.IsDynamic()) {
    launch.output->entries[index].desc = std::make_unique<aclTensorDesc>(aclTensorDesc{model.outputs[index].type, result.dims, ACL_FORMAT_ND});
  }
  return true;
}

TaskResult RunLaunch(const Launch &launch, Stream *stream) {
  const Device &device = launch.model->loaded->device();
  const Runtime::TaskScope scope;
  for (const TensorView &input : launch.inputs) {
    if (input.bytes > 0 && !Rt().IsDeviceRange(device, input.data, input.bytes)) {
      return {ACL_ERROR_RT_AICORE_EXCEPTION, "an input buffer is not device memory of device " + std::to_string(device.id) + ", or was freed"};
    }
  }
  for (const aclDataBuffer &output : launch.outputs) {
    if (output.data != nullptr && !Rt().IsDeviceRange(device, output.data, output.size)) {
      return {ACL_ERROR_RT_AICORE_EXCEPTION, "an output buffer is not device memory of device " + std::to_string(device.id) + ", or was freed"};
    }
  }
  return launch.model->loaded->Run(launch.inputs, launch.cores, stream, [&](size_t index, const TensorView &result, std::string &error) {
    return StoreOutput(launch, index, result, error);
  });
}

aclError Busy(uint32_t modelId) { return Fail(ACL_ERROR_GE_FAILURE, "model " + std::to_string(modelId) + " is running on another stream: load it once per stream"); }

}  // namespace

// --- loading

aclError aclmdlLoadFromFile(const char *modelPath, uint32_t *modelId) { return aclmdlLoadFromFileWithMem(modelPath, modelId, nullptr, 0, nullptr, 0); }

aclError aclmdlLoadFromMem(const void *model, size_t modelSize, uint32_t *modelId) {
  return Initialized([&]() -> aclError {
    if (model == nullptr || modelId == nullptr) return NullArgument("aclmdlLoadFromMem");
    std::shared_ptr<CompiledModel> compiled;
    if (const aclError code = ReadModel(model, modelSize, compiled); code != ACL_SUCCESS) return code;
    return LoadModel(std::move(compiled), true, true, modelId);
  });
}

aclError aclmdlLoadFromFileWithMem(const char *modelPath, uint32_t *modelId, void *workPtr, size_t workSize, void *weightPtr, size_t weightSize) {
  return Initialized([&]() -> aclError {
    if (modelId == nullptr) return NullArgument("aclmdlLoadFromFile");
    std::shared_ptr<CompiledModel> compiled;
    if (const aclError code = ReadModelFile(modelPath, compiled); code != ACL_SUCCESS) return code;
    if ((workPtr != nullptr && workSize < compiled->WorkBytes()) || (weightPtr != nullptr && weightSize < compiled->WeightBytes())) {
      return Fail(ACL_ERROR_GE_PARAM_INVALID, "the memory given for the model is smaller than aclmdlQuerySize says");
    }
    return LoadModel(std::move(compiled), workPtr == nullptr, weightPtr == nullptr, modelId);
  });
}

aclError aclmdlQuerySize(const char *fileName, size_t *workSize, size_t *weightSize) {
  if (workSize == nullptr || weightSize == nullptr) return NullArgument("aclmdlQuerySize");
  std::shared_ptr<CompiledModel> compiled;
  if (const aclError code = ReadModelFile(fileName, compiled); code != ACL_SUCCESS) return code;
  *workSize = compiled->WorkBytes();
  *weightSize = compiled->WeightBytes();
  return ACL_SUCCESS;
}

aclError aclmdlQuerySizeFromMem(const void *model, size_t modelSize, size_t *workSize, size_t *weightSize) {
  if (model == nullptr || workSize == nullptr || weightSize == nullptr) return NullArgument("aclmdlQuerySizeFromMem");
  std::shared_ptr<CompiledModel> compiled;
  if (const aclError code = ReadModel(model, modelSize, compiled); code != ACL_SUCCESS) return code;
  *workSize = compiled->WorkBytes();
  *weightSize = compiled->WeightBytes();
  return ACL_SUCCESS;
}

aclError aclmdlUnload(uint32_t modelId) {
  return Initialized([&]() -> aclError {
    std::shared_ptr<RegisteredModel> model;
    if (const aclError code = FindModel(modelId, model); code != ACL_SUCCESS) return code;
    Handle context = 0;
    if (const aclError code = Rt().CurrentContext(context); code != ACL_SUCCESS) return code;
    if (context != model->context) return Fail(ACL_ERROR_GE_FAILURE, "the model was loaded in another context than that of this thread");
    ModelRegistry::Instance().Remove(modelId);
    return ACL_SUCCESS;
  });
}

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

// --- tensor descriptions, datasets and buffers

aclTensorDesc *aclCreateTensorDesc(aclDataType dataType, int numDims, const int64_t *dims, aclFormat format) {
  if (numDims < 0 || numDims > ACL_MAX_DIM_CNT || (numDims > 0 && dims == nullptr)) return nullptr;
  return new aclTensorDesc{dataType, std::vector<int64_t>(dims, dims + numDims), format};
}

void aclDestroyTensorDesc(const aclTensorDesc *desc) { delete desc; }
size_t aclGetTensorDescNumDims(const aclTensorDesc *desc) { return desc == nullptr ? 0 : desc->dims.size(); }

aclError aclGetTensorDescDimV2(const aclTensorDesc *desc, size_t index, int64_t *dimSize) {
  if (desc == nullptr || dimSize == nullptr) return NullArgument("aclGetTensorDescDimV2");
  if (index >= desc->dims.size()) return IndexOutside(index);
  *dimSize = desc->dims[index];
  return ACL_SUCCESS;
}

aclDataType aclGetTensorDescType(const aclTensorDesc *desc) { return desc == nullptr ? ACL_DT_UNDEFINED : desc->type; }
aclFormat aclGetTensorDescFormat(const aclTensorDesc *desc) { return desc == nullptr ? ACL_FORMAT_UNDEFINED : desc->format; }
size_t aclGetTensorDescSize(const aclTensorDesc *desc) { return desc == nullptr ? 0 : TensorBytes(desc->type, desc->dims); }

aclError aclmdlSetDatasetTensorDesc(aclmdlDataset *dataset, aclTensorDesc *tensorDesc, size_t index) {
  if (dataset == nullptr || tensorDesc == nullptr) return NullArgument("aclmdlSetDatasetTensorDesc");
  if (index >= dataset->entries.size()) return IndexOutside(index);
  dataset->entries[index].desc = std::make_unique<aclTensorDesc>(*tensorDesc);
  return ACL_SUCCESS;
}

aclTensorDesc *aclmdlGetDatasetTensorDesc(const aclmdlDataset *dataset, size_t index) {
  return dataset == nullptr || index >= dataset->entries.size() ? nullptr : dataset->entries[index].desc.get();
}

aclmdlDataset *aclmdlCreateDataset() { return new aclmdlDataset(); }

aclError aclmdlDestroyDataset(const aclmdlDataset *dataset) {
  if (dataset == nullptr) return NullArgument("aclmdlDestroyDataset");
  delete dataset;
  return ACL_SUCCESS;
}

aclError aclmdlAddDatasetBuffer(aclmdlDataset *dataset, aclDataBuffer *dataBuffer) {
  if (dataset == nullptr || dataBuffer == nullptr) return NullArgument("aclmdlAddDatasetBuffer");
  dataset->entries.push_back({dataBuffer, nullptr});
  return ACL_SUCCESS;
}

size_t aclmdlGetDatasetNumBuffers(const aclmdlDataset *dataset) { return dataset == nullptr ? 0 : dataset->entries.size(); }

aclDataBuffer *aclmdlGetDatasetBuffer(const aclmdlDataset *dataset, size_t index) {
  return dataset == nullptr || index >= dataset->entries.size() ? nullptr : dataset->entries[index].buffer;
}

aclDataBuffer *aclCreateDataBuffer(void *data, size_t size) { return new aclDataBuffer{data, size}; }

aclError aclDestroyDataBuffer(const aclDataBuffer *dataBuffer) {
  if (dataBuffer == nullptr) return NullArgument("aclDestroyDataBuffer");
  delete dataBuffer;
  return ACL_SUCCESS;
}

aclError aclUpdateDataBuffer(aclDataBuffer *dataBuffer, void *data, size_t size) {
  if (dataBuffer == nullptr) return NullArgument("aclUpdateDataBuffer");
  *dataBuffer = {data, size};
  return ACL_SUCCESS;
}

void *aclGetDataBufferAddr(const aclDataBuffer *dataBuffer) { return dataBuffer == nullptr ? nullptr : dataBuffer->data; }
size_t aclGetDataBufferSizeV2(const aclDataBuffer *dataBuffer) { return dataBuffer == nullptr ? 0 : dataBuffer->size; }
size_t aclDataTypeSize(aclDataType dataType) { return ElementSize(dataType); }

// --- running

aclError aclmdlExecute(uint32_t modelId, const aclmdlDataset *input, aclmdlDataset *output) {
  return Initialized([&]() -> aclError {
    Launch launch{};
    if (const aclError code = Prepare(modelId, input, output, true, launch); code != ACL_SUCCESS) return code;
    if (!launch.model->Begin(0, true)) return Busy(modelId);
    const TaskResult result = RunLaunch(launch, nullptr);
    launch.model->End();
    return result.code == ACL_SUCCESS ? ACL_SUCCESS : Fail(result.code, result.text);
  });
}

aclError aclmdlExecuteAsync(uint32_t modelId, const aclmdlDataset *input, aclmdlDataset *output, aclrtStream stream) {
  return Initialized([&]() -> aclError {
    std::shared_ptr<Stream> target;
    if (const aclError code = Rt().FindStream(ToHandle(stream), target); code != ACL_SUCCESS) return code;
    const auto launch = std::make_shared<Launch>();
    if (const aclError code = Prepare(modelId, input, output, false, *launch); code != ACL_SUCCESS) return code;
    if (!launch->model->Begin(target->handle(), false)) return Busy(modelId);
    target->Enqueue({[launch](Stream &own) { return RunLaunch(*launch, &own); }, [launch](const TaskResult &) { launch->model->End(); }});
    return ACL_SUCCESS;
  });
}
