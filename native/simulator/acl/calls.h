// What every function of the simulated AscendCL begins with.
#pragma once

#include <string>

#include "core/errors.h"
#include "core/runtime.h"

namespace simulator {

inline Runtime &Rt() { return Runtime::Instance(); }

/** Runs the body only after aclInit. */
template <typename Body>
aclError Initialized(Body body) {
  const aclError code = Rt().RequireInitialized();
  return code == ACL_SUCCESS ? body() : code;
}

inline aclError NullArgument(const char *function) { return Fail(ACL_ERROR_INVALID_PARAM, std::string(function) + " got a null pointer"); }

}  // namespace simulator
