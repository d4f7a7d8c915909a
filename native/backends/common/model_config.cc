#include "common/model_config.h"

#include <algorithm>

namespace npu_console::kit {

namespace {

std::string SerializedJson(TRITONSERVER_Message* message) {
  const char* base = nullptr;
  std::size_t byte_size = 0;
  Must(TRITONSERVER_MessageSerializeToJson(message, &base, &byte_size));
  return {base, byte_size};
}

TensorConfig ReadTensor(const Json& json) {
  TensorConfig tensor;
  tensor.name = json["name"].String("");
  tensor.datatype = ConfigType(json["data_type"].String(""));
  tensor.dims = json["dims"].IntegerItems();
  if (json.Has("reshape") && json["reshape"].IsObject()) tensor.reshape = json["reshape"]["shape"].IntegerItems();
  tensor.is_optional = json["optional"].Boolean(false);
  tensor.is_ragged = json["allow_ragged_batch"].Boolean(false);
  tensor.is_shape_tensor = json["is_shape_tensor"].Boolean(false);
  return tensor;
}

BatchTensorConfig ReadBatchTensor(const Json& json) {
  BatchTensorConfig tensor;
  tensor.kind = json["kind"].String("");
  for (const Json& name : json["target_name"].items()) tensor.target_names.push_back(name.String(""));
  tensor.datatype = ConfigType(json["data_type"].String(""));
  if (!json["source_input"].items().empty()) tensor.source_input = json["source_input"].items().front().String("");
  return tensor;
}

const TensorConfig* Find(const std::vector<TensorConfig>& tensors, const std::string& name) {
  const auto found = std::find_if(tensors.begin(), tensors.end(), [&](const TensorConfig& tensor) { return tensor.name == name; });
  return found == tensors.end() ? nullptr : &*found;
}

}  // namespace

const TensorConfig* ModelConfig::Input(const std::string& wanted) const { return Find(inputs, wanted); }
const TensorConfig* ModelConfig::Output(const std::string& wanted) const { return Find(outputs, wanted); }

std::optional<std::string> ModelConfig::Parameter(const std::string& key) const {
  const Json& value = document["parameters"][key]["string_value"];
  if (value.kind() != Json::Kind::String) return std::nullopt;
  return value.String("");
}

std::vector<std::string> ModelConfig::ScheduledInputs() const {
  std::vector<std::string> names;
  for (const Json& control : document["sequence_batching"]["control_input"].items()) names.push_back(control["name"].String(""));
  for (const StateConfig& state : states) names.push_back(state.input_name);
  for (const BatchTensorConfig& tensor : batch_inputs) names.insert(names.end(), tensor.target_names.begin(), tensor.target_names.end());
  return names;
}

ModelConfig ParseModelConfig(const std::string& json) {
  ModelConfig config;
  std::string problem;
  if (!Json::Parse(json, config.document, problem, 64) || !config.document.IsObject()) {
    throw InvalidArgument("the model configuration from the server is no JSON object" + (problem.empty() ? "" : ": " + problem));
  }
  const Json& document = config.document;
  config.name = document["name"].String("");
  config.max_batch_size = document["max_batch_size"].Integer(0);
  for (const Json& input : document["input"].items()) config.inputs.push_back(ReadTensor(input));
  for (const Json& output : document["output"].items()) config.outputs.push_back(ReadTensor(output));
  for (const Json& tensor : document["batch_input"].items()) config.batch_inputs.push_back(ReadBatchTensor(tensor));
  for (const Json& tensor : document["batch_output"].items()) config.batch_outputs.push_back(ReadBatchTensor(tensor));
  for (const Json& state : document["sequence_batching"]["state"].items()) {
    config.states.push_back({state["input_name"].String(""), state["output_name"].String(""), ConfigType(state["data_type"].String("")), state["dims"].IntegerItems(),
                             state["use_same_buffer_for_input_output"].Boolean(false)});
  }
  for (const Json& group : document["instance_group"].items()) {
    config.instance_groups.push_back({group["name"].String(""), group["kind"].String("KIND_AUTO"), group["count"].Integer(0), group["gpus"].IntegerItems()});
  }
  config.has_dynamic_batching = document["dynamic_batching"].IsObject();
  config.has_sequence_batching = document["sequence_batching"].IsObject();
  config.is_decoupled = document["model_transaction_policy"]["decoupled"].Boolean(false);
  config.preferred_batch_sizes = document["dynamic_batching"]["preferred_batch_size"].IntegerItems();
  config.default_model_filename = document["default_model_filename"].String("");
  return config;
}

ModelFacts ReadModel(TRITONBACKEND_Model* model) {
  ModelFacts facts;
  const char* text = nullptr;
  Must(TRITONBACKEND_ModelName(model, &text));
  facts.name = text;
  Must(TRITONBACKEND_ModelVersion(model, &facts.version));
  TRITONBACKEND_ArtifactType artifacts = TRITONBACKEND_ARTIFACT_FILESYSTEM;
  Must(TRITONBACKEND_ModelRepository(model, &artifacts, &text));
  if (artifacts != TRITONBACKEND_ARTIFACT_FILESYSTEM) throw Unsupported("model '" + facts.name + "' does not lie in the file system");
  facts.directory = text;
  Must(TRITONBACKEND_ModelAutoCompleteConfig(model, &facts.auto_complete));
  TRITONSERVER_Message* message = nullptr;
  Must(TRITONBACKEND_ModelConfig(model, 1, &message));
  std::string json;
  TRITONSERVER_Error* const error = Guard([&] { json = SerializedJson(message); });
  TRITONSERVER_ErrorDelete(TRITONSERVER_MessageDelete(message));
  Must(error);
  facts.config = ParseModelConfig(json);
  if (facts.config.name.empty()) facts.config.name = facts.name;
  return facts;
}

bool NeedsTensors(const ModelFacts& model) {
  if (!model.config.inputs.empty() && !model.config.outputs.empty()) return false;
  if (!model.auto_complete) {
    throw InvalidArgument("model '" + model.config.name + "' must list its inputs and outputs in config.pbtxt because the server runs with --disable-auto-complete-config");
  }
  return true;
}

void SetModelConfig(TRITONBACKEND_Model* model, const Json& document) {
  const std::string json = document.Write();
  TRITONSERVER_Message* message = nullptr;
  Must(TRITONSERVER_MessageNewFromSerializedJson(&message, json.data(), json.size()));
  TRITONSERVER_Error* const error = TRITONBACKEND_ModelSetConfig(model, 1, message);
  TRITONSERVER_ErrorDelete(TRITONSERVER_MessageDelete(message));
  Must(error);
}

std::string ConfigTypeName(TRITONSERVER_DataType datatype) {
  return datatype == TRITONSERVER_TYPE_BYTES ? "TYPE_STRING" : std::string("TYPE_") + TRITONSERVER_DataTypeString(datatype);
}

TRITONSERVER_DataType ConfigType(const std::string& name) {
  if (name == "TYPE_STRING") return TRITONSERVER_TYPE_BYTES;
  return name.starts_with("TYPE_") ? TRITONSERVER_StringToDataType(name.c_str() + 5) : TRITONSERVER_TYPE_INVALID;
}

std::filesystem::path FindModelFile(const ModelFacts& model, const std::string& fallback) {
  const std::string name = model.config.default_model_filename.empty() ? fallback : model.config.default_model_filename;
  const std::filesystem::path path = (model.version_directory() / name).lexically_normal();
  const std::string inside = path.lexically_relative(model.version_directory().lexically_normal()).string();
  if (inside.empty() || inside.starts_with("..") || std::filesystem::path(name).is_absolute()) {
    throw InvalidArgument("default_model_filename '" + name + "' of model '" + model.name + "' leads outside the version directory");
  }
  std::error_code problem;
  if (!std::filesystem::exists(path, problem)) throw Unavailable("unable to find '" + path.string() + "' for model '" + model.name + "'");
  return path;
}

std::string ShapeText(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (std::size_t index = 0; index < shape.size(); ++index) text += (index == 0 ? "" : ",") + std::to_string(shape[index]);
  return text + "]";
}

std::int64_t ElementCount(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t dim : shape) {
    if (dim < 0 || __builtin_mul_overflow(count, dim, &count)) throw InvalidArgument("shape " + ShapeText(shape) + " has no number of elements");
  }
  return count;
}

std::uint64_t ByteCount(TRITONSERVER_DataType datatype, const std::vector<std::int64_t>& shape) {
  std::int64_t bytes = ElementCount(shape);
  if (__builtin_mul_overflow(bytes, std::int64_t{TRITONSERVER_DataTypeByteSize(datatype)}, &bytes)) {
    throw InvalidArgument("shape " + ShapeText(shape) + " of " + TRITONSERVER_DataTypeString(datatype) + " has more bytes than a machine can have");
  }
  return static_cast<std::uint64_t>(bytes);
}

}  // namespace npu_console::kit
