// Completes a configuration from the model file, and holds the two against each other.
#pragma once

#include "common/model_config.h"
#include "onnx_file.h"

namespace npu_console::npu_ge {

// What a model that can batch gets for max_batch_size where the server names no default-max-batch-size.
inline constexpr std::int64_t kDefaultMaxBatchSize = 4;

// The configuration with its missing inputs, outputs and max_batch_size filled in, and dynamic batching where several requests fit. Unchanged where it lists both
// inputs and outputs. @param is_static a batch is part of the shapes then
Json CompleteConfig(const kit::ModelConfig& config, const ModelSignature& file, std::int64_t default_max_batch_size, bool is_static);

// @throws kit::Error INVALID_ARG, a sentence, where names, types or shapes differ
void CheckAgainstFile(const kit::ModelConfig& config, const ModelSignature& file);

// The signature of a model whose file says nothing (TensorFlow): what the configuration says, in its order.
ModelSignature SignatureOf(const kit::ModelConfig& config);

}  // namespace npu_console::npu_ge
