// The simulated libacl_mdl.so: loads .om files of the simulated atc and runs them. acl_mdl_desc.cc describes them.
#include "acl/acl_mdl.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "acl/model_types.h"
#include "core/loaded_model.h"
#include "core/om_file.h"

using namespace simulator;

namespace {

aclError OmFailure(OmProblem problem, const std::string &error) {
  switch (problem) {
    case OmProblem::NotOm: return Fail(ACL_ERROR_PARSE_MODEL, error);
    case OmProblem::Truncated: return Fail(ACL_ERROR_MODEL_SIZE_INVALID, error);
    default: return Fail(ACL_ERROR_DESERIALIZE_MODEL, error);
  }
}

}  // namespace

namespace simulator {

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

}  // namespace simulator

namespace {

aclError LoadModel(std::shared_ptr<const CompiledModel> model, bool takesWork, bool takesWeights, uint32_t *id) {
  Handle context = 0;
  Device *device = nullptr;
  if (const aclError code = Rt().CurrentContext(context); code != ACL_SUCCESS) return code;
  if (const aclError code = Rt().CurrentDevice(device); code != ACL_SUCCESS) return code;
  TaskResult problem;
  auto registered = std::make_shared<RegisteredModel>();
  registered->loaded = LoadedModel::Load(std::move(model), *device, takesWork, takesWeights, problem);
  if (registered->loaded == nullptr) return Fail(problem.code, problem.text);
  registered->context = context;
  registered->variant = registered->loaded->model().LargestVariant();
  *id = ModelRegistry::Instance().Add(std::move(registered));
  return ACL_SUCCESS;
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
