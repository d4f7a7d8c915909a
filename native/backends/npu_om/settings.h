// What a model's parameters and the command line say about npu_om. Documented in docs/npu-backends.md.
#pragma once

#include <string>
#include <vector>

#include "ascend/om_model.h"
#include "common/options.h"

namespace npu_console::npu_om {

struct Settings {
  ascend::OmOptions om;
  ascend::Padding padding = ascend::Padding::All;
  /** Logical devices for instances whose group names none; empty: all. */
  std::vector<int> device_ids;
  std::int64_t default_max_batch_size = 4;
};

/** @throws kit::Error INVALID_ARG that names the parameter, its value and what it takes */
Settings ReadSettings(const kit::ModelConfig& config, const kit::BackendSettings& settings);

/** What an error of CANN is to a server: the same kind under Triton's name. */
kit::Error ToTriton(const ascend::Error& error);

/** Runs the body; errors of CANN come out as the kit's. */
template <class Body>
auto Translated(Body&& body) {
  try {
    return body();
  } catch (const ascend::Error& error) {
    throw ToTriton(error);
  }
}

}  // namespace npu_console::npu_om
