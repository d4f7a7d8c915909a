// What a model asks of the graph engine: parameters of its config.pbtxt, with the command line's as default. Conflicts are refused with a sentence.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ascend/ge_library.h"
#include "common/model_config.h"
#include "common/options.h"

namespace npu_console::npu_ge {

struct ModelOptions {
  // Options of GE by the level at which they are given to it. Of the process: to GEInitialize, where they act on every model.
  ascend::GeOptionMap process, session, graph;
  // To the parser of the model file.
  ascend::GeOptionMap parser;

  // Logical ids; none: every card of the process.
  std::vector<int> device_ids;
  // Streams per card; 0: what the instances need.
  int device_exec_blocks = 0;
  // Streams over which one instance spreads its batch.
  int instance_exec_blocks = 1;
  bool is_static = false;
  // A session for each stream instead of one for each card: more memory, less waiting for each other.
  bool session_per_stream = false;

  std::chrono::milliseconds execution_timeout{60'000};
  std::chrono::milliseconds load_timeout{600'000};

  // The option of the three levels that acts: the graph's before the session's before the process's.
  std::optional<std::string> Effective(const std::string& key) const;
  // In GE's words: "fp16" where nothing is said.
  std::string Precision() const;
  bool has_gears() const { return Effective("ge.dynamicDims").has_value(); }
  // What the operator should know; sentences.
  std::vector<std::string> notes;
};

// @param work_directory where GE may write: dumps and profiles land below it
// @throws kit::Error INVALID_ARG
ModelOptions ReadModelOptions(const kit::ModelFacts& model, const kit::BackendSettings& settings, const std::filesystem::path& work_directory);

// What a completed configuration has to be like for these options. @throws kit::Error INVALID_ARG
void CheckModelOptions(const ModelOptions& options, const kit::ModelConfig& config);

// Streams per card for so many cards. Instances of KIND_GPU belong to one card each and are counted there.
int BlocksPerDevice(const ModelOptions& options, const kit::ModelConfig& config, std::size_t device_count);

}  // namespace npu_console::npu_ge
