// The simulated .om file: a header of 256 bytes, then fields, then the ONNX bytes.
#pragma once

#include <memory>
#include <string>

#include "core/compiled_model.h"

namespace simulator {

std::string WriteOm(const CompiledModel &model);

enum class OmProblem { None, NotOm, Truncated, Damaged };
/** @returns null with the kind of damage */
std::shared_ptr<CompiledModel> ReadOm(const void *data, size_t bytes, OmProblem &problem, std::string &error);

}  // namespace simulator
