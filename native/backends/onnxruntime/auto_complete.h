// Fills what a configuration does not say from the model, and holds what it says against it: the rules and texts of Triton's onnxruntime backend.
#pragma once

#include "common/model_config.h"
#include "onnxruntime/session.h"

namespace npu_console::onnxruntime {

// The document with missing inputs, outputs, max_batch_size and dynamic batching. Only to be called where a list is missing.
// @throws kit::Error INVALID_ARG where the model cannot batch as the configuration wants it
Json Completed(const kit::ModelConfig& config, const Session& session, std::int64_t default_max_batch_size);

// @throws kit::Error INVALID_ARG where a tensor of the configuration is not the model's
void CheckTensors(const kit::ModelConfig& config, const Session& session);

}  // namespace npu_console::onnxruntime
