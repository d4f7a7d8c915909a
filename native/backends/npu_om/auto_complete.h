// The configuration of an .om model: made from the file, or held against it.
#pragma once

#include "ascend/om_description.h"
#include "common/model_config.h"

namespace npu_console::npu_om {

/**
 * The configuration with what it leaves out: inputs, outputs, max_batch_size (the largest batch that was compiled for; for free shapes the default) and,
 * where it batches, dynamic_batching. @throws kit::Error
 */
Json Completed(const kit::ModelConfig& config, const ascend::OmDescription& model, std::int64_t default_max_batch_size);

/** @throws kit::Error INVALID_ARG that names what the configuration says and what the file has */
void CheckConfig(const kit::ModelConfig& config, const ascend::OmDescription& model);

/** TRITONSERVER_TYPE_INVALID where Triton has no such type. */
TRITONSERVER_DataType TritonType(aclDataType type);

}  // namespace npu_console::npu_om
