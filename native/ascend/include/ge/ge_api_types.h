// Codes and types of GE's session interface.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "graph/tensor.h"

namespace ge {

constexpr Status GE_CLI_INIT_FAILED = 1343229953;
constexpr Status GE_CLI_SESS_ADD_FAILED = 1343229957;
constexpr Status GE_CLI_SESS_REMOVE_FAILED = 1343229959;
constexpr Status GE_CLI_SESS_RUN_FAILED = 1343229960;
constexpr Status GE_CLI_GE_ALREADY_INITIALIZED = 1343229962;
constexpr Status GE_CLI_GE_NOT_INITIALIZED = 1343229963;

using RunAsyncCallback = std::function<void(Status, std::vector<Tensor> &)>;

}  // namespace ge
