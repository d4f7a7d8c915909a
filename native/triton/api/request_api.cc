// TRITONBACKEND_: requests and their inputs. Who may do what when is request_ledger.cc's.
#include <algorithm>

#include "model.h"

using npu_console::triton::InvalidArgument;
using npu_console::triton::OutOfBounds;

namespace {

// What Triton puts before a message about a request that has an id.
std::string Prefix(const TRITONBACKEND_Request& request) { return request.id.empty() ? "" : "[request id: " + request.id + "] "; }

// One that was released must not be read: its inputs went back to whoever lent them.
TRITONSERVER_Error* CheckHeld(const TRITONBACKEND_Request* request, const char* function) {
  if (request == nullptr) return InvalidArgument(std::string(function) + ": request is NULL");
  if (request->is_released) return InvalidArgument(std::string(function) + ": " + Prefix(*request) + "request was already released");
  return nullptr;
}

#define REQUIRE_HELD(request) \
  if (TRITONSERVER_Error* error = CheckHeld(request, __func__)) return error

template <class T>
void Give(T* target, const T& value) {
  if (target != nullptr) *target = value;
}

}  // namespace

// ---- Requests ----

TRITONSERVER_Error* TRITONBACKEND_RequestId(TRITONBACKEND_Request* request, const char** id) {
  REQUIRE_HELD(request);
  *id = request->id.c_str();
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_RequestIsCancelled(TRITONBACKEND_Request* request, bool* is_cancelled) {
  REQUIRE_HELD(request);
  *is_cancelled = request->is_cancelled;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_RequestCorrelationId(TRITONBACKEND_Request* request, uint64_t* id) {
  REQUIRE_HELD(request);
  if (request->has_correlation_string) return InvalidArgument(Prefix(*request) + "correlation ID in request is not an unsigned int");
  *id = request->correlation_id;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_RequestCorrelationIdString(TRITONBACKEND_Request* request, const char** id) {
  REQUIRE_HELD(request);
  if (!request->has_correlation_string) return InvalidArgument(Prefix(*request) + "correlation ID in request is not a string");
  *id = request->correlation_string.c_str();
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_InferenceRequestTimeoutMicroseconds(TRITONBACKEND_Request* request, uint64_t* timeout_us) {
  REQUIRE_HELD(request);
  *timeout_us = request->timeout_us;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_RequestFlags(TRITONBACKEND_Request* request, uint32_t* flags) {
  REQUIRE_HELD(request);
  *flags = request->flags;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_RequestParameterCount(TRITONBACKEND_Request* request, uint32_t* count) {
  REQUIRE_HELD(request);
  *count = static_cast<uint32_t>(request->parameters.size());
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_RequestParameter(
    TRITONBACKEND_Request* request, const uint32_t index, const char** key, TRITONSERVER_ParameterType* type, const void** value) {
  REQUIRE_HELD(request);
  if (index >= request->parameters.size()) return OutOfBounds(index, "request has", request->parameters.size(), "parameters");
  const TRITONSERVER_Parameter& parameter = request->parameters[index];
  *key = parameter.name.c_str();
  *type = parameter.type;
  *value = parameter.Value();
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_RequestInputCount(TRITONBACKEND_Request* request, uint32_t* count) {
  REQUIRE_HELD(request);
  *count = static_cast<uint32_t>(request->inputs.size());
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_RequestInputName(TRITONBACKEND_Request* request, const uint32_t index, const char** input_name) {
  REQUIRE_HELD(request);
  *input_name = nullptr;
  if (index >= request->inputs.size()) return OutOfBounds(index, "request has", request->inputs.size(), "inputs", Prefix(*request));
  *input_name = request->inputs[index].name.c_str();
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_RequestInput(TRITONBACKEND_Request* request, const char* name, TRITONBACKEND_Input** input) {
  REQUIRE_HELD(request);
  TRITONHOST_REQUIRE(name);
  *input = nullptr;
  const auto found = std::find_if(request->inputs.begin(), request->inputs.end(), [name](const auto& candidate) { return candidate.name == name; });
  if (found == request->inputs.end()) return InvalidArgument(Prefix(*request) + "unknown request input name " + name);
  *input = &*found;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_RequestInputByIndex(TRITONBACKEND_Request* request, const uint32_t index, TRITONBACKEND_Input** input) {
  REQUIRE_HELD(request);
  *input = nullptr;
  if (index >= request->inputs.size()) return OutOfBounds(index, "request has", request->inputs.size(), "inputs", Prefix(*request));
  *input = &request->inputs[index];
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_RequestOutputCount(TRITONBACKEND_Request* request, uint32_t* count) {
  REQUIRE_HELD(request);
  *count = static_cast<uint32_t>(request->outputs.size());
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_RequestOutputName(TRITONBACKEND_Request* request, const uint32_t index, const char** output_name) {
  REQUIRE_HELD(request);
  *output_name = nullptr;
  if (index >= request->outputs.size()) return OutOfBounds(index, "request has", request->outputs.size(), "requested outputs", Prefix(*request));
  *output_name = request->outputs[index].c_str();
  return nullptr;
}

// Every output goes to CPU memory, whatever its size.
TRITONSERVER_Error* TRITONBACKEND_RequestOutputBufferProperties(
    TRITONBACKEND_Request* request, const char*, size_t*, TRITONSERVER_MemoryType* memory_type, int64_t* memory_type_id) {
  REQUIRE_HELD(request);
  *memory_type = TRITONSERVER_MEMORY_CPU;
  *memory_type_id = 0;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_RequestRelease(TRITONBACKEND_Request* request, uint32_t release_flags) {
  TRITONHOST_REQUIRE(request);
  return request->ledger->Release(request, release_flags);
}

TRITONSERVER_Error* TRITONBACKEND_RequestTrace(TRITONBACKEND_Request* request, TRITONSERVER_InferenceTrace** trace) {
  REQUIRE_HELD(request);
  *trace = request->trace.get();
  return nullptr;
}

// ---- Inputs ----

TRITONSERVER_Error* TRITONBACKEND_InputProperties(
    TRITONBACKEND_Input* input, const char** name, TRITONSERVER_DataType* datatype, const int64_t** shape, uint32_t* dims_count, uint64_t* byte_size,
    uint32_t* buffer_count) {
  return TRITONBACKEND_InputPropertiesForHostPolicy(input, nullptr, name, datatype, shape, dims_count, byte_size, buffer_count);
}

// Inputs have one set of data, whatever the policy.
TRITONSERVER_Error* TRITONBACKEND_InputPropertiesForHostPolicy(
    TRITONBACKEND_Input* input, const char*, const char** name, TRITONSERVER_DataType* datatype, const int64_t** shape, uint32_t* dims_count, uint64_t* byte_size,
    uint32_t* buffer_count) {
  TRITONHOST_REQUIRE(input);
  Give(name, input->name.c_str());
  Give(datatype, input->datatype);
  Give(shape, static_cast<const int64_t*>(input->shape.data()));
  Give(dims_count, static_cast<uint32_t>(input->shape.size()));
  Give(byte_size, input->byte_size);
  Give(buffer_count, static_cast<uint32_t>(input->buffers.size()));
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_InputBuffer(
    TRITONBACKEND_Input* input, const uint32_t index, const void** buffer, uint64_t* buffer_byte_size, TRITONSERVER_MemoryType* memory_type, int64_t* memory_type_id) {
  return TRITONBACKEND_InputBufferForHostPolicy(input, nullptr, index, buffer, buffer_byte_size, memory_type, memory_type_id);
}

TRITONSERVER_Error* TRITONBACKEND_InputBufferForHostPolicy(
    TRITONBACKEND_Input* input, const char*, const uint32_t index, const void** buffer, uint64_t* buffer_byte_size, TRITONSERVER_MemoryType* memory_type,
    int64_t* memory_type_id) {
  TRITONHOST_REQUIRE(input);
  *buffer = nullptr;
  *buffer_byte_size = 0;
  if (index >= input->buffers.size()) return OutOfBounds(index, "input '" + input->name + "' has", input->buffers.size(), "buffers");
  *buffer = input->buffers[index].data;
  *buffer_byte_size = input->buffers[index].byte_size;
  Give(memory_type, TRITONSERVER_MEMORY_CPU);
  Give(memory_type_id, int64_t{0});
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_InputBufferAttributes(
    TRITONBACKEND_Input* input, const uint32_t index, const void** buffer, TRITONSERVER_BufferAttributes** buffer_attributes) {
  TRITONHOST_REQUIRE(input);
  *buffer = nullptr;
  *buffer_attributes = nullptr;
  if (index >= input->buffers.size()) return OutOfBounds(index, "input '" + input->name + "' has", input->buffers.size(), "buffers");
  *buffer = input->buffers[index].data;
  *buffer_attributes = &input->attributes[index];
  return nullptr;
}
