#include "onnxruntime/auto_complete.h"

#include <algorithm>

namespace npu_console::onnxruntime {

namespace {

bool CanBatch(const Session& session) {
  const auto is_batched = [](const TensorInfo& tensor) { return !tensor.dims.empty() && tensor.dims.front() == -1; };
  return std::all_of(session.inputs().begin(), session.inputs().end(), is_batched) && std::all_of(session.outputs().begin(), session.outputs().end(), is_batched);
}

Json ConfigTensor(const TensorInfo& tensor, bool is_batching) {
  Json json = Json::Object({{"name", Json::Text(tensor.name)}, {"data_type", Json::Text(kit::ConfigTypeName(tensor.datatype))}});
  std::vector<std::int64_t> dims(tensor.dims.begin() + (is_batching ? 1 : 0), tensor.dims.end());
  if (dims.empty()) {
    dims = {1};
    if (is_batching) json.Set("reshape", Json::Object({{"shape", Json::Array()}}));
  }
  json.Set("dims", Json::Integers(dims));
  return json;
}

std::string Names(const std::vector<TensorInfo>& tensors) {
  std::string names;
  for (const TensorInfo& tensor : tensors) names += (names.empty() ? "" : ", ") + tensor.name;
  return names;
}

void CheckTensor(const kit::ModelConfig& config, const kit::TensorConfig& declared, const TensorInfo* tensor, const char* role, const std::vector<TensorInfo>& all) {
  if (tensor == nullptr) {
    throw kit::InvalidArgument(std::string("unexpected inference ") + role + " '" + declared.name + "', allowed " + role + "s are: " + Names(all));
  }
  if (tensor->datatype == declared.datatype) return;
  throw kit::InvalidArgument("unable to load model '" + config.name + "', configuration expects datatype " + kit::ConfigTypeName(declared.datatype) + " for " + role + " '" +
                             declared.name + "', model provides " + kit::ConfigTypeName(tensor->datatype));
}

}  // namespace

Json Completed(const kit::ModelConfig& config, const Session& session, std::int64_t default_max_batch_size) {
  const bool can_batch = CanBatch(session);
  if (!can_batch && config.max_batch_size != 0) {
    throw kit::InvalidArgument("autofill failed for model '" + config.name + "': model does not support batching while non-zero max_batch_size is specified");
  }
  const std::int64_t max_batch_size = can_batch && config.max_batch_size == 0 ? default_max_batch_size : config.max_batch_size;
  Json completed = config.document;
  completed.Set("max_batch_size", Json::Whole(max_batch_size));
  const std::vector<std::string> scheduled = config.ScheduledInputs();
  if (config.inputs.empty()) {
    Json inputs = Json::Array();
    for (const TensorInfo& tensor : session.inputs()) {
      if (std::find(scheduled.begin(), scheduled.end(), tensor.name) == scheduled.end()) inputs.Append(ConfigTensor(tensor, max_batch_size > 0));
    }
    completed.Set("input", inputs);
  }
  if (config.outputs.empty()) {
    Json outputs = Json::Array();
    for (const TensorInfo& tensor : session.outputs()) outputs.Append(ConfigTensor(tensor, max_batch_size > 0));
    completed.Set("output", outputs);
  }
  if (max_batch_size > 1 && !config.has_dynamic_batching && !config.has_sequence_batching) completed.Set("dynamic_batching", Json::Object());
  return completed;
}

void CheckTensors(const kit::ModelConfig& config, const Session& session) {
  for (const kit::TensorConfig& input : config.inputs) CheckTensor(config, input, session.Input(input.name), "input", session.inputs());
  for (const kit::TensorConfig& output : config.outputs) CheckTensor(config, output, session.Output(output.name), "output", session.outputs());
}

}  // namespace npu_console::onnxruntime
