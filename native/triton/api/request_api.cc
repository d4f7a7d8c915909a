// TRITONBACKEND_: requests, inputs, outputs, responses, response factories, states and statistics. Who may do what when is request_ledger.cc's.
#include <algorithm>

#include "model.h"

using npu_console::triton::EventPtr;
using npu_console::triton::InvalidArgument;
using npu_console::triton::MakeError;
using npu_console::triton::NewEvent;

namespace {

// What Triton puts before a message about a request that has an id.
std::string Prefix(const TRITONBACKEND_Request& request) { return request.id.empty() ? "" : "[request id: " + request.id + "] "; }

TRITONSERVER_Error* OutOfBounds(const std::string& prefix, uint32_t index, const char* owner, std::size_t count, const char* what) {
  return InvalidArgument(prefix + "out of bounds index " + std::to_string(index) + ": " + owner + " has " + std::to_string(count) + " " + what);
}

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

TRITONSERVER_Error* TRITONBACKEND_ResponseFactoryIsCancelled(TRITONBACKEND_ResponseFactory* factory, bool* is_cancelled) {
  TRITONHOST_REQUIRE(factory);
  *is_cancelled = factory->request->is_cancelled;
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
  if (index >= request->parameters.size()) return OutOfBounds("", index, "request", request->parameters.size(), "parameters");
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
  if (index >= request->inputs.size()) return OutOfBounds(Prefix(*request), index, "request", request->inputs.size(), "inputs");
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
  if (index >= request->inputs.size()) return OutOfBounds(Prefix(*request), index, "request", request->inputs.size(), "inputs");
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
  if (index >= request->outputs.size()) return OutOfBounds(Prefix(*request), index, "request", request->outputs.size(), "requested outputs");
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
  if (index >= input->buffers.size()) return OutOfBounds("", index, ("input '" + input->name + "'").c_str(), input->buffers.size(), "buffers");
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
  if (index >= input->buffers.size()) return OutOfBounds("", index, ("input '" + input->name + "'").c_str(), input->buffers.size(), "buffers");
  *buffer = input->buffers[index].data;
  *buffer_attributes = &input->attributes[index];
  return nullptr;
}

// ---- Responses ----

TRITONSERVER_Error* TRITONBACKEND_ResponseFactoryNew(TRITONBACKEND_ResponseFactory** factory, TRITONBACKEND_Request* request) {
  TRITONHOST_REQUIRE(factory);
  TRITONHOST_REQUIRE(request);
  return request->ledger->NewFactory(request, factory);
}

TRITONSERVER_Error* TRITONBACKEND_ResponseFactoryDelete(TRITONBACKEND_ResponseFactory* factory) {
  TRITONHOST_REQUIRE(factory);
  return factory->request->ledger->DeleteFactory(factory);
}

TRITONSERVER_Error* TRITONBACKEND_ResponseFactorySendFlags(TRITONBACKEND_ResponseFactory* factory, const uint32_t send_flags) {
  TRITONHOST_REQUIRE(factory);
  return factory->request->ledger->SendFlags(factory, send_flags);
}

TRITONSERVER_Error* TRITONBACKEND_ResponseNew(TRITONBACKEND_Response** response, TRITONBACKEND_Request* request) {
  TRITONHOST_REQUIRE(response);
  TRITONHOST_REQUIRE(request);
  return request->ledger->NewResponse(request, false, response);
}

TRITONSERVER_Error* TRITONBACKEND_ResponseNewFromFactory(TRITONBACKEND_Response** response, TRITONBACKEND_ResponseFactory* factory) {
  TRITONHOST_REQUIRE(response);
  TRITONHOST_REQUIRE(factory);
  return factory->request->ledger->NewResponse(factory->request, true, response);
}

TRITONSERVER_Error* TRITONBACKEND_ResponseDelete(TRITONBACKEND_Response* response) {
  TRITONHOST_REQUIRE(response);
  return response->request->ledger->DeleteResponse(response);
}

TRITONSERVER_Error* TRITONBACKEND_ResponseSetStringParameter(TRITONBACKEND_Response* response, const char* name, const char* value) {
  TRITONHOST_REQUIRE(response);
  TRITONHOST_REQUIRE(name);
  TRITONHOST_REQUIRE(value);
  TRITONSERVER_Parameter parameter;
  parameter.name = name;
  parameter.bytes = value;
  response->parameters.push_back(std::move(parameter));
  return nullptr;
}

#define RESPONSE_PARAMETER(Name, Type, type_value, member)                                                                                \
  TRITONSERVER_Error* TRITONBACKEND_ResponseSet##Name##Parameter(TRITONBACKEND_Response* response, const char* name, const Type value) { \
    TRITONHOST_REQUIRE(response);                                                                                                        \
    TRITONHOST_REQUIRE(name);                                                                                                            \
    TRITONSERVER_Parameter parameter;                                                                                                    \
    parameter.name = name;                                                                                                               \
    parameter.type = type_value;                                                                                                         \
    parameter.member = value;                                                                                                            \
    response->parameters.push_back(std::move(parameter));                                                                                \
    return nullptr;                                                                                                                      \
  }
RESPONSE_PARAMETER(Int, int64_t, TRITONSERVER_PARAMETER_INT, integer)
RESPONSE_PARAMETER(Bool, bool, TRITONSERVER_PARAMETER_BOOL, boolean)
RESPONSE_PARAMETER(Double, double, TRITONSERVER_PARAMETER_DOUBLE, real)
#undef RESPONSE_PARAMETER

TRITONSERVER_Error* TRITONBACKEND_ResponseOutput(
    TRITONBACKEND_Response* response, TRITONBACKEND_Output** output, const char* name, const TRITONSERVER_DataType datatype, const int64_t* shape,
    const uint32_t dims_count) {
  TRITONHOST_REQUIRE(response);
  TRITONHOST_REQUIRE(output);
  TRITONHOST_REQUIRE(name);
  auto created = std::make_unique<TRITONBACKEND_Output>();
  created->name = name;
  created->datatype = datatype;
  created->shape.assign(shape, shape + dims_count);
  created->request = response->request;
  *output = created.get();
  response->outputs.push_back(std::move(created));
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ResponseSend(TRITONBACKEND_Response* response, const uint32_t send_flags, TRITONSERVER_Error* error) {
  TRITONHOST_REQUIRE(response);
  return response->request->ledger->Send(response, send_flags, error);
}

TRITONSERVER_Error* TRITONBACKEND_InferenceResponseOutputByName(
    TRITONBACKEND_Response* response, const char* name, TRITONSERVER_DataType* datatype, const int64_t** shape, uint64_t* dim_count) {
  TRITONHOST_REQUIRE(response);
  TRITONHOST_REQUIRE(name);
  for (const auto& output : response->outputs) {
    if (output->name != name) continue;
    *datatype = output->datatype;
    *shape = output->shape.data();
    *dim_count = output->shape.size();
    return nullptr;
  }
  return MakeError(TRITONSERVER_ERROR_NOT_FOUND, std::string("Output name ") + name + "not found.");
}

TRITONSERVER_Error* TRITONBACKEND_InferenceResponseOutput(
    TRITONBACKEND_Response* response, const uint32_t index, const char** name, TRITONSERVER_DataType* datatype, const int64_t** shape, uint64_t* dim_count) {
  TRITONHOST_REQUIRE(response);
  if (index >= response->outputs.size()) return OutOfBounds("", index, "response", response->outputs.size(), "outputs");
  const TRITONBACKEND_Output& output = *response->outputs[index];
  *name = output.name.c_str();
  *datatype = output.datatype;
  *shape = output.shape.data();
  *dim_count = output.shape.size();
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_OutputBuffer(
    TRITONBACKEND_Output* output, void** buffer, const uint64_t buffer_byte_size, TRITONSERVER_MemoryType* memory_type, int64_t* memory_type_id) {
  TRITONHOST_REQUIRE(output);
  return output->Allocate("output", output->request->batch_memory.get(), buffer_byte_size, buffer, memory_type, memory_type_id);
}

TRITONSERVER_Error* TRITONBACKEND_OutputBufferAttributes(TRITONBACKEND_Output* output, TRITONSERVER_BufferAttributes** buffer_attributes) {
  TRITONHOST_REQUIRE(output);
  *buffer_attributes = &output->attributes;
  return nullptr;
}

// ---- States ----

TRITONSERVER_Error* TRITONBACKEND_StateNew(
    TRITONBACKEND_State** state, TRITONBACKEND_Request* request, const char* name, const TRITONSERVER_DataType datatype, const int64_t* shape, const uint32_t dims_count) {
  TRITONHOST_REQUIRE(state);
  TRITONHOST_REQUIRE(request);
  TRITONHOST_REQUIRE(name);
  return request->ledger->NewState(request, name, datatype, shape, dims_count, state);
}

TRITONSERVER_Error* TRITONBACKEND_StateUpdate(TRITONBACKEND_State* state) {
  TRITONHOST_REQUIRE(state);
  return state->request->ledger->UpdateState(state);
}

TRITONSERVER_Error* TRITONBACKEND_StateBuffer(
    TRITONBACKEND_State* state, void** buffer, const uint64_t buffer_byte_size, TRITONSERVER_MemoryType* memory_type, int64_t* memory_type_id) {
  TRITONHOST_REQUIRE(state);
  return state->Allocate("state", nullptr, buffer_byte_size, buffer, memory_type, memory_type_id);
}

TRITONSERVER_Error* TRITONBACKEND_StateBufferAttributes(TRITONBACKEND_State* state, TRITONSERVER_BufferAttributes** buffer_attributes) {
  TRITONHOST_REQUIRE(state);
  *buffer_attributes = &state->attributes;
  return nullptr;
}

// ---- Statistics ----

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceReportStatistics(
    TRITONBACKEND_ModelInstance* instance, TRITONBACKEND_Request* request, const bool success, const uint64_t exec_start_ns, const uint64_t compute_start_ns,
    const uint64_t compute_end_ns, const uint64_t exec_end_ns) {
  TRITONHOST_REQUIRE(instance);
  TRITONHOST_REQUIRE(request);
  return request->ledger->ReportTimes(request, success, {exec_start_ns, compute_start_ns, compute_end_ns, exec_end_ns});
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceReportBatchStatistics(
    TRITONBACKEND_ModelInstance* instance, const uint64_t batch_size, const uint64_t exec_start_ns, const uint64_t compute_start_ns, const uint64_t compute_end_ns,
    const uint64_t exec_end_ns) {
  TRITONHOST_REQUIRE(instance);
  EventPtr event = NewEvent(TRITONHOST_EVENT_BATCH_STATISTICS);
  event->Token(instance->options.token).Model(instance->model->facts->token).Instance(instance->options.token);
  event->Times(exec_start_ns, compute_start_ns, compute_end_ns, exec_end_ns);
  event->batch_size = batch_size;
  instance->model->events->Push(std::move(event));
  return nullptr;
}

struct TRITONBACKEND_ModelInstanceResponseStatistics {
  TRITONBACKEND_ModelInstance* instance = nullptr;
  TRITONBACKEND_ResponseFactory* factory = nullptr;
  uint64_t response_start_ns = 0;
  uint64_t compute_output_start_ns = 0;
  uint64_t response_end_ns = 0;
  npu_console::triton::ErrorPtr error;
};

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceResponseStatisticsNew(TRITONBACKEND_ModelInstanceResponseStatistics** statistics) {
  TRITONHOST_REQUIRE(statistics);
  *statistics = new TRITONBACKEND_ModelInstanceResponseStatistics;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceResponseStatisticsDelete(TRITONBACKEND_ModelInstanceResponseStatistics* statistics) {
  delete statistics;
  return nullptr;
}

#define RESPONSE_STATISTIC(Name, Type, member)                                                                                                                          \
  TRITONSERVER_Error* TRITONBACKEND_ModelInstanceResponseStatisticsSet##Name(TRITONBACKEND_ModelInstanceResponseStatistics* statistics, Type member) { \
    TRITONHOST_REQUIRE(statistics);                                                                                                                                     \
    statistics->member = member;                                                                                                                                        \
    return nullptr;                                                                                                                                                     \
  }
RESPONSE_STATISTIC(ModelInstance, TRITONBACKEND_ModelInstance*, instance)
RESPONSE_STATISTIC(ResponseFactory, TRITONBACKEND_ResponseFactory*, factory)
RESPONSE_STATISTIC(ResponseStart, uint64_t, response_start_ns)
RESPONSE_STATISTIC(ComputeOutputStart, uint64_t, compute_output_start_ns)
RESPONSE_STATISTIC(ResponseEnd, uint64_t, response_end_ns)
#undef RESPONSE_STATISTIC

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceResponseStatisticsSetError(TRITONBACKEND_ModelInstanceResponseStatistics* statistics, TRITONSERVER_Error* error) {
  TRITONHOST_REQUIRE(statistics);
  statistics->error.reset(error == nullptr ? nullptr : new TRITONSERVER_Error(*error));
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceReportResponseStatistics(TRITONBACKEND_ModelInstanceResponseStatistics* statistics) {
  TRITONHOST_REQUIRE(statistics);
  if (statistics->instance == nullptr || statistics->factory == nullptr) {
    return InvalidArgument("response statistics need a model instance and a response factory before they are reported");
  }
  EventPtr event = NewEvent(TRITONHOST_EVENT_RESPONSE_STATISTICS);
  event->Token(statistics->factory->request->token).Model(statistics->instance->model->facts->token).Instance(statistics->instance->options.token);
  event->Times(statistics->response_start_ns, statistics->compute_output_start_ns, statistics->response_end_ns, 0).Error(statistics->error.get());
  statistics->instance->model->events->Push(std::move(event));
  return nullptr;
}
