// Events of the Triton host as values of JavaScript: the shapes are those of `HostEvent` in server-core/backends/native/host-events.ts.
#pragma once

#include <napi.h>

#include <cstdint>

#include "host.h"

namespace npu_console {

struct TensorCopies {
  std::uint64_t tensors = 0;
  std::uint64_t bytes = 0;
};

// What is thrown where JavaScript made no value: the environment ends, or a JavaScript exception (an answer too large for it) is pending. Not an exception of
// node-addon-api, which an environment that ends could not make.
struct NoJavaScript {};

// Copies everything, the tensors into buffers that JavaScript owns (each once; counted). The event can be freed afterwards.
napi_value ToJavaScript(napi_env env, const TritonHostEvent& event, TensorCopies* copies);

}  // namespace npu_console
