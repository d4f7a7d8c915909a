// Calls a function that no server has: cannot be opened.
#include <cstdint>

#include "triton/core/tritonbackend.h"

extern "C" TRITONSERVER_Error* TRITONBACKEND_FunctionOfTheFuture();

extern "C" TRITONSERVER_Error* TRITONBACKEND_ModelInstanceExecute(TRITONBACKEND_ModelInstance*, TRITONBACKEND_Request**, const std::uint32_t) {
  return TRITONBACKEND_FunctionOfTheFuture();
}
