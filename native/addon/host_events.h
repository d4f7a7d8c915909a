// Events of the Triton host as values of JavaScript: the shapes are those of `HostEvent` in server-core/backends/native/host-events.ts.
#pragma once

#include <napi.h>

#include <cstdint>

#include "host.h"

namespace npu_console {

// How the tensors of events came to JavaScript: copied into buffers of its own, or lent, as buffers over the host's memory.
struct TensorCopies {
  std::uint64_t tensors = 0;
  std::uint64_t bytes = 0;
  std::uint64_t lent_tensors = 0;
  std::uint64_t lent_bytes = 0;
  // Electron refuses buffers over memory that V8 did not make; found out with the first.
  bool can_lend = true;
};

// What is thrown where JavaScript made no value: the environment ends, or a JavaScript exception (an answer too large for it) is pending. Not an exception of
// node-addon-api, which an environment that ends could not make.
struct NoJavaScript {};

// Copies everything but large tensors, which JavaScript gets as buffers over the host's memory, given back when they are collected. The event can be freed afterwards.
napi_value ToJavaScript(napi_env env, const TritonHostEvent& event, TensorCopies* copies);

// The data of one tensor of an event, as a Buffer: lent or copied.
napi_value DataToJavaScript(napi_env env, const TritonHostEvent& event, std::uint32_t tensor, TensorCopies* copies);

}  // namespace npu_console
