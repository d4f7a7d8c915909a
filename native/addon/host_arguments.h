// Values of JavaScript as the arguments of host.h. What they point at lives as long as the object that made them, but for the data of tensors: that is
// JavaScript's own memory, which is not copied.
#pragma once

#include <napi.h>

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "host.h"

namespace npu_console {

// Throws what a call of the host returned, as an Error with the property `code` (a TRITONSERVER_Error_Code).
void ThrowIfFailed(Napi::Env env, TRITONSERVER_Error* error);

class HostArguments {
 public:
  explicit HostArguments(Napi::Env env) : env_(env) {}
  HostArguments(const HostArguments&) = delete;
  HostArguments& operator=(const HostArguments&) = delete;

  // [token, id, correlation id (bigint or string), flags, timeout in us, inputs, names of outputs, parameters]
  TritonHostRequest Request(napi_value fields);
  const std::vector<TritonHostRequest>& Requests(napi_value list);
  // [name, TRITONSERVER_DataType, shape, Uint8Array or an array of them, ...]: four elements a tensor.
  const std::vector<TritonHostTensor>& Tensors(napi_value list);
  // [name, TRITONSERVER_ParameterType, value, ...]: three elements a parameter.
  const std::vector<TritonHostParameter>& Parameters(napi_value list);
  const std::vector<const char*>& Texts(napi_value list);
  const char* Text(napi_value value);
  // NULL where the value is null or undefined.
  const char* OptionalText(napi_value value);

  std::uint32_t Length(napi_value list) const;
  napi_value Element(napi_value list, std::uint32_t index) const;
  double Number(napi_value value) const;
  // The nearest number of that type: a client may ask for a timeout of 2^64 - 1 us, which JavaScript rounds up.
  std::uint64_t Uint64(napi_value value) const;
  std::uint64_t Token(napi_value value) const { return Uint64(value); }
  std::uint32_t Uint32(napi_value value) const { return static_cast<std::uint32_t>(Uint64(value)); }

 private:
  const std::string& Keep(napi_value value);
  TritonHostBuffer Bytes(napi_value value) const;
  void Require(napi_status status, const char* what) const;

  const Napi::Env env_;
  // Deques: what was handed out stays where it is.
  std::deque<std::string> texts_;
  std::deque<std::vector<const char*>> text_lists_;
  std::deque<std::vector<std::int64_t>> shapes_;
  std::deque<std::vector<TritonHostBuffer>> buffers_;
  std::deque<std::vector<TritonHostTensor>> tensors_;
  std::deque<std::vector<TritonHostParameter>> parameters_;
  std::vector<TritonHostRequest> requests_;
};

}  // namespace npu_console
