#include "auto_config.h"

#include <algorithm>

#include "common/error.h"

namespace npu_console::npu_ge {

namespace {

// Does the first dimension of every tensor stand open? Then it is taken for the batch.
bool CanBatch(const ModelSignature& file) {
  const auto is_open = [](const TensorSignature& tensor) { return tensor.has_shape && !tensor.dims.empty() && tensor.dims.front().is_open(); };
  return std::all_of(file.inputs.begin(), file.inputs.end(), is_open) && std::all_of(file.outputs.begin(), file.outputs.end(), is_open);
}

Json TensorEntry(const TensorSignature& tensor, bool is_batching) {
  std::vector<std::int64_t> dims = tensor.shape();
  if (is_batching && !dims.empty()) dims.erase(dims.begin());
  Json entry = Json::Object();
  entry.Set("name", Json::Text(tensor.name));
  entry.Set("data_type", Json::Text(kit::ConfigTypeName(tensor.datatype)));
  // A configuration cannot say that a tensor has no dimensions: one element it is then, with the model's own shape beside it.
  if (dims.empty()) {
    entry.Set("dims", Json::Integers({1}));
    Json reshape = Json::Object();
    reshape.Set("shape", Json::Array());
    entry.Set("reshape", reshape);
  } else {
    entry.Set("dims", Json::Integers(dims));
  }
  return entry;
}

const TensorSignature* Find(const std::vector<TensorSignature>& tensors, const std::string& name) {
  for (const TensorSignature& tensor : tensors) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

std::string Names(const std::vector<TensorSignature>& tensors) {
  std::string names;
  for (const TensorSignature& tensor : tensors) names += (names.empty() ? "'" : ", '") + tensor.name + "'";
  return names.empty() ? "none" : names;
}

void CheckTensor(const kit::ModelConfig& config, const kit::TensorConfig& tensor, const std::vector<TensorSignature>& file, const std::string& role) {
  const TensorSignature* const found = Find(file, tensor.name);
  if (found == nullptr) {
    throw kit::InvalidArgument("model '" + config.name + "' has no " + role + " '" + tensor.name + "': the model file has " + Names(file));
  }
  if (tensor.datatype != found->datatype) {
    throw kit::InvalidArgument(role + " '" + tensor.name + "' of model '" + config.name + "' is " + kit::ConfigTypeName(tensor.datatype) + " in the configuration and " +
                               kit::ConfigTypeName(found->datatype) + " in the model file");
  }
  if (!found->has_shape) return;
  std::vector<std::int64_t> own = tensor.model_dims();
  if (config.is_batching()) own.insert(own.begin(), -1);
  const std::vector<std::int64_t> theirs = found->shape();
  if (theirs.empty() && own == std::vector<std::int64_t>{1}) return;
  const bool is_batch_fixed = config.is_batching() && !theirs.empty() && theirs.front() >= 0;
  bool fits = own.size() == theirs.size();
  for (std::size_t axis = 0; fits && axis < own.size(); ++axis) fits = own[axis] == -1 || theirs[axis] == -1 || own[axis] == theirs[axis];
  if (fits && !is_batch_fixed) return;
  throw kit::InvalidArgument(role + " '" + tensor.name + "' of model '" + config.name + "' is " + kit::ShapeText(own) +
                             (config.is_batching() ? " (with the batch dimension that max_batch_size adds)" : "") + " in the configuration and " + kit::ShapeText(theirs) +
                             " in the model file" + (is_batch_fixed ? ": its batch is fixed, so max_batch_size has to be 0 and dims the full shape" : ""));
}

/** Whether a tensor that the configuration lists has all dimensions of the file, its batch among them. */
bool ListsWholeShape(const std::vector<kit::TensorConfig>& own, const std::vector<TensorSignature>& file) {
  return std::any_of(own.begin(), own.end(), [&](const kit::TensorConfig& tensor) {
    const TensorSignature* const found = Find(file, tensor.name);
    return found != nullptr && found->has_shape && tensor.model_dims().size() == found->dims.size();
  });
}

}  // namespace

Json CompleteConfig(const kit::ModelConfig& config, const ModelSignature& file, std::int64_t default_max_batch_size, bool is_static) {
  Json document = config.document;
  if (!config.inputs.empty() && !config.outputs.empty()) return document;
  const bool can_batch = !is_static && CanBatch(file);
  // Dims that were written with the batch among them say that the server is not to add one.
  const bool is_given_whole = ListsWholeShape(config.inputs, file.inputs) || ListsWholeShape(config.outputs, file.outputs);
  const std::int64_t max_batch_size = can_batch && config.max_batch_size == 0 && !is_given_whole ? default_max_batch_size : config.max_batch_size;
  const std::vector<std::string> scheduled = config.ScheduledInputs();
  const auto fill = [&](const char* field, const std::vector<TensorSignature>& tensors, bool is_input) {
    Json list = Json::Array();
    for (const TensorSignature& tensor : tensors) {
      if (is_input && std::find(scheduled.begin(), scheduled.end(), tensor.name) != scheduled.end()) continue;
      list.Append(TensorEntry(tensor, max_batch_size > 0));
    }
    document.Set(field, list);
  };
  if (config.inputs.empty()) fill("input", file.inputs, true);
  if (config.outputs.empty()) fill("output", file.outputs, false);
  document.Set("max_batch_size", Json::Whole(max_batch_size));
  if (can_batch && max_batch_size > 1 && !config.has_dynamic_batching && !config.has_sequence_batching) document.Set("dynamic_batching", Json::Object());
  return document;
}

void CheckAgainstFile(const kit::ModelConfig& config, const ModelSignature& file) {
  for (const kit::TensorConfig& input : config.inputs) CheckTensor(config, input, file.inputs, "input");
  for (const kit::TensorConfig& output : config.outputs) CheckTensor(config, output, file.outputs, "output");
  const std::vector<std::string> scheduled = config.ScheduledInputs();
  for (const TensorSignature& input : file.inputs) {
    if (config.Input(input.name) == nullptr && std::find(scheduled.begin(), scheduled.end(), input.name) == scheduled.end()) {
      throw kit::InvalidArgument("the model file of '" + config.name + "' needs the input '" + input.name + "', which the configuration does not list");
    }
  }
  for (const kit::StateConfig& state : config.states) {
    if (Find(file.outputs, state.output_name) != nullptr) continue;
    throw kit::InvalidArgument("the state '" + state.input_name + "' of model '" + config.name + "' is to come from output '" + state.output_name +
                               "', and the model file has " + Names(file.outputs));
  }
}

ModelSignature SignatureOf(const kit::ModelConfig& config) {
  ModelSignature signature;
  const auto add = [&](const kit::TensorConfig& tensor, std::vector<TensorSignature>& to) {
    TensorSignature& made = to.emplace_back();
    made.name = tensor.name;
    made.datatype = tensor.datatype;
    made.has_shape = true;
    if (config.is_batching()) made.dims.push_back({-1, "batch"});
    for (const std::int64_t dim : tensor.model_dims()) made.dims.push_back({dim, ""});
  };
  for (const kit::TensorConfig& input : config.inputs) add(input, signature.inputs);
  for (const kit::TensorConfig& output : config.outputs) add(output, signature.outputs);
  return signature;
}

}  // namespace npu_console::npu_ge
