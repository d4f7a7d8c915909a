// TRITONBACKEND_: response factories, responses, their outputs, and states. Who may do what when is request_ledger.cc's.
#include "model.h"

using npu_console::triton::MakeError;
using npu_console::triton::OutOfBounds;

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

TRITONSERVER_Error* TRITONBACKEND_ResponseFactoryIsCancelled(TRITONBACKEND_ResponseFactory* factory, bool* is_cancelled) {
  TRITONHOST_REQUIRE(factory);
  *is_cancelled = factory->request->is_cancelled;
  return nullptr;
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
  if (index >= response->outputs.size()) return OutOfBounds(index, "response has", response->outputs.size(), "outputs");
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
