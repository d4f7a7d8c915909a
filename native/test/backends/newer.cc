// Was built against a newer API than any server has, and says so as backends do.
#include "fixture.h"

extern "C" {

TRITONSERVER_Error* TRITONBACKEND_Initialize(TRITONBACKEND_Backend*) {
  std::uint32_t major = 0, minor = 0;
  fixture::Must(TRITONBACKEND_ApiVersion(&major, &minor));
  if (major == TRITONBACKEND_API_VERSION_MAJOR && minor >= TRITONBACKEND_API_VERSION_MINOR + 1) return nullptr;
  return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_UNSUPPORTED, "Triton backend API version does not support this backend");
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceExecute(TRITONBACKEND_ModelInstance*, TRITONBACKEND_Request**, const std::uint32_t) { return nullptr; }

}  // extern "C"
