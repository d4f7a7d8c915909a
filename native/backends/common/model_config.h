// What a backend reads of its model: the configuration as the server gives it (TRITONBACKEND_ModelConfig), and where its files are.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/error.h"
#include "shared/json.h"

namespace npu_console::kit {

// An `input` or `output` of the configuration.
struct TensorConfig {
  std::string name;
  TRITONSERVER_DataType datatype = TRITONSERVER_TYPE_INVALID;
  std::vector<std::int64_t> dims;  // without the batch dimension; -1: any
  std::optional<std::vector<std::int64_t>> reshape;
  bool is_optional = false;
  bool is_ragged = false;
  bool is_shape_tensor = false;
  // The dims that the model itself has: reshape's where there is one.
  const std::vector<std::int64_t>& model_dims() const { return reshape.has_value() ? *reshape : dims; }
};

// An entry of `batch_input` or `batch_output`.
struct BatchTensorConfig {
  std::string kind;
  std::vector<std::string> target_names;
  TRITONSERVER_DataType datatype = TRITONSERVER_TYPE_INVALID;
  std::string source_input;
};

// An implicit state of a sequence.
struct StateConfig {
  std::string input_name, output_name;
  TRITONSERVER_DataType datatype = TRITONSERVER_TYPE_INVALID;
  std::vector<std::int64_t> dims;
  bool uses_same_buffer = false;
};

struct InstanceGroupConfig {
  std::string name, kind;  // "KIND_CPU"
  std::int64_t count = 0;
  std::vector<std::int64_t> device_ids;
};

struct ModelConfig {
  std::string name;
  std::int64_t max_batch_size = 0;
  std::vector<TensorConfig> inputs, outputs;
  std::vector<BatchTensorConfig> batch_inputs, batch_outputs;
  std::vector<StateConfig> states;
  std::vector<InstanceGroupConfig> instance_groups;
  bool has_dynamic_batching = false, has_sequence_batching = false, is_decoupled = false;
  std::vector<std::int64_t> preferred_batch_sizes;
  std::string default_model_filename;
  // All of it, for what is not above.
  Json document;

  bool is_batching() const { return max_batch_size > 0; }
  const TensorConfig* Input(const std::string& name) const;
  const TensorConfig* Output(const std::string& name) const;
  // `parameters { key: ... value: { string_value: ... } }`; nothing where it is absent.
  std::optional<std::string> Parameter(const std::string& key) const;
  // Names of the inputs that the scheduler or the backend provides and a client does not: sequence controls, states, batch inputs.
  std::vector<std::string> ScheduledInputs() const;
};

// Takes 64-bit numbers as numbers or as strings. @throws Error INVALID_ARG
ModelConfig ParseModelConfig(const std::string& json);

// What is known of a model from the server.
struct ModelFacts {
  std::string name;
  std::uint64_t version = 0;
  std::filesystem::path directory;  // of the model
  bool auto_complete = false;
  ModelConfig config;
  std::filesystem::path version_directory() const { return directory / std::to_string(version); }
};

// @throws Error
ModelFacts ReadModel(TRITONBACKEND_Model* model);

// Whether the configuration leaves its inputs or outputs to be found out from the model file. @throws Error INVALID_ARG where the server forbids that
bool NeedsTensors(const ModelFacts& model);

// Hands a completed configuration back: `document` with what the backend found out. Inside ModelInitialize only. @throws Error
void SetModelConfig(TRITONBACKEND_Model* model, const Json& document);

// "TYPE_FP32", as a configuration writes it.
std::string ConfigTypeName(TRITONSERVER_DataType datatype);
TRITONSERVER_DataType ConfigType(const std::string& name);

// The file or directory `default_model_filename` (or `fallback`) of the version. @throws Error INVALID_ARG where it leads outside the version's directory,
// UNAVAILABLE where it is not there
std::filesystem::path FindModelFile(const ModelFacts& model, const std::string& fallback);

// "[1,3,-1]"
std::string ShapeText(const std::vector<std::int64_t>& shape);
// Product of the dims; 1 for none. @throws Error INVALID_ARG for a negative dimension or one that does not fit into 63 bits
std::int64_t ElementCount(const std::vector<std::int64_t>& shape);
// Bytes of a tensor of that shape; of a type whose elements have no size of their own (BYTES) 0. @throws Error INVALID_ARG as ElementCount, and for more bytes
// than fit into 63 bits
std::uint64_t ByteCount(TRITONSERVER_DataType datatype, const std::vector<std::int64_t>& shape);

}  // namespace npu_console::kit
