#include "npu_om/auto_complete.h"

#include <algorithm>

namespace npu_console::npu_om {

namespace {

using ascend::OmDescription;
using ascend::OmTensor;

bool HasOpenRows(const std::vector<OmTensor>& tensors) {
  return std::all_of(tensors.begin(), tensors.end(), [](const OmTensor& tensor) { return !tensor.dims.empty() && tensor.dims[0] < 0; });
}

/** Rows that one run takes; 0: the model does not batch; -1: any number. */
std::int64_t BatchOf(const OmDescription& model) {
  if (model.has_free_shapes()) return HasOpenRows(model.inputs) && HasOpenRows(model.outputs) ? -1 : 0;
  // Image sizes say nothing about rows, and a single row is as well a model without a batch.
  const std::int64_t largest = model.LargestBatch();
  return largest > 1 ? largest : 0;
}

/** Lengths that differ between gears are open; of outputs they are known only after loading, so there all but the batch may differ. */
Json ConfigTensor(const OmTensor& tensor, bool is_batching, bool may_differ) {
  const TRITONSERVER_DataType type = TritonType(tensor.type);
  if (type == TRITONSERVER_TYPE_INVALID) {
    throw kit::Unsupported("tensor '" + tensor.name + "' has the data type " + std::to_string(tensor.type) + " of AscendCL, which Triton's protocol does not have");
  }
  Json json = Json::Object({{"name", Json::Text(tensor.name)}, {"data_type", Json::Text(kit::ConfigTypeName(type))}});
  std::vector<std::int64_t> dims(tensor.dims.begin() + (is_batching && !tensor.dims.empty() ? 1 : 0), tensor.dims.end());
  if (may_differ) std::fill(dims.begin(), dims.end(), -1);
  if (dims.empty()) {
    dims = {1};
    json.Set("reshape", Json::Object({{"shape", Json::Array()}}));
  }
  json.Set("dims", Json::Integers(dims));
  return json;
}

std::string Names(const std::vector<OmTensor>& tensors) {
  std::string names;
  for (const OmTensor& tensor : tensors) names += (names.empty() ? "" : ", ") + tensor.name;
  return names;
}

void CheckTensor(const kit::ModelConfig& config, const kit::TensorConfig& declared, const std::vector<OmTensor>& all, const char* role) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const OmTensor& tensor) { return tensor.name == declared.name; });
  if (found == all.end()) throw kit::InvalidArgument(std::string("unexpected inference ") + role + " '" + declared.name + "', allowed " + role + "s are: " + Names(all));
  if (TritonType(found->type) != declared.datatype) {
    throw kit::InvalidArgument("unable to load model '" + config.name + "', configuration expects datatype " + kit::ConfigTypeName(declared.datatype) + " for " + role + " '" +
                               declared.name + "', model provides " + kit::ConfigTypeName(TritonType(found->type)));
  }
  std::vector<std::int64_t> dims = declared.model_dims();
  if (config.is_batching()) dims.insert(dims.begin(), -1);
  const std::vector<std::int64_t>& has = found->dims;
  const bool is_scalar = has.empty() && dims == std::vector<std::int64_t>{1};
  bool fits = dims.size() == has.size();
  for (std::size_t axis = 0; fits && axis < dims.size(); axis++) fits = dims[axis] < 0 || has[axis] < 0 || dims[axis] == has[axis] || std::string(role) == "output";
  if (fits || is_scalar) return;
  throw kit::InvalidArgument("unable to load model '" + config.name + "', configuration has " + role + " '" + declared.name + "' as " + kit::ShapeText(dims) +
                             (config.is_batching() ? " (with the batch)" : "") + ", the .om file as " + kit::ShapeText(has) + ": correct dims or max_batch_size in config.pbtxt");
}

}  // namespace

TRITONSERVER_DataType TritonType(aclDataType type) {
  const char* name = ascend::TritonTypeName(type);
  return name[0] == 0 ? TRITONSERVER_TYPE_INVALID : TRITONSERVER_StringToDataType(name);
}

Json Completed(const kit::ModelConfig& config, const OmDescription& model, std::int64_t default_max_batch_size) {
  const std::int64_t batch = BatchOf(model);
  const std::int64_t max_batch_size = config.max_batch_size > 0 ? config.max_batch_size : batch < 0 ? default_max_batch_size : batch;
  Json completed = config.document;
  completed.Set("max_batch_size", Json::Whole(max_batch_size));
  const bool outputs_differ = model.gear_kind == ascend::GearKind::Image || model.gear_kind == ascend::GearKind::Free;
  if (config.inputs.empty()) {
    Json inputs = Json::Array();
    // What the server's scheduler gives the model is no input of its clients.
    const std::vector<std::string> scheduled = config.ScheduledInputs();
    for (const OmTensor& tensor : model.inputs) {
      if (std::find(scheduled.begin(), scheduled.end(), tensor.name) == scheduled.end()) inputs.Append(ConfigTensor(tensor, max_batch_size > 0, false));
    }
    completed.Set("input", inputs);
  }
  if (config.outputs.empty()) {
    Json outputs = Json::Array();
    for (const OmTensor& tensor : model.outputs) outputs.Append(ConfigTensor(tensor, max_batch_size > 0, outputs_differ));
    completed.Set("output", outputs);
  }
  if (max_batch_size > 1 && !config.has_dynamic_batching && !config.has_sequence_batching) completed.Set("dynamic_batching", Json::Object());
  return completed;
}

void CheckConfig(const kit::ModelConfig& config, const OmDescription& model) {
  for (const kit::TensorConfig& input : config.inputs) CheckTensor(config, input, model.inputs, "input");
  for (const kit::TensorConfig& output : config.outputs) CheckTensor(config, output, model.outputs, "output");
  for (const OmTensor& tensor : model.inputs) {
    const std::vector<std::string> scheduled = config.ScheduledInputs();
    if (config.Input(tensor.name) == nullptr && std::find(scheduled.begin(), scheduled.end(), tensor.name) == scheduled.end()) {
      throw kit::InvalidArgument("unable to load model '" + config.name + "', the .om file needs input '" + tensor.name + "', which config.pbtxt does not list");
    }
  }
  for (const kit::StateConfig& state : config.states) {
    if (std::any_of(model.outputs.begin(), model.outputs.end(), [&](const OmTensor& tensor) { return tensor.name == state.output_name; })) continue;
    throw kit::InvalidArgument("unable to load model '" + config.name + "', its state '" + state.input_name + "' is to come from output '" + state.output_name +
                               "', which the .om file does not have. Its outputs are: " + Names(model.outputs));
  }
  if (!config.is_batching() || model.has_free_shapes()) return;
  const std::int64_t largest = model.LargestBatch();
  if (largest == 0) {
    throw kit::InvalidArgument("unable to load model '" + config.name + "', max_batch_size is " + std::to_string(config.max_batch_size) +
                               ", but the .om file's inputs and outputs do not share their first dimension: set max_batch_size to 0");
  }
  if (config.max_batch_size > largest) {
    throw kit::InvalidArgument("unable to load model '" + config.name + "', max_batch_size is " + std::to_string(config.max_batch_size) +
                               ", the .om file was compiled for a batch of at most " + std::to_string(largest) + ": lower it, or compile a larger gear");
  }
}

}  // namespace npu_console::npu_om
