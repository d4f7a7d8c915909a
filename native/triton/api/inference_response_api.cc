// TRITONSERVER_: what comes of a backend's own inference requests: the memory that the backend gives for outputs, and the responses.
#include "bridge.h"

using npu_console::triton::OutOfBounds;

// ---- Memory for outputs ----

TRITONSERVER_Error* TRITONSERVER_ResponseAllocatorNew(
    TRITONSERVER_ResponseAllocator** allocator, TRITONSERVER_ResponseAllocatorAllocFn_t alloc_fn, TRITONSERVER_ResponseAllocatorReleaseFn_t release_fn,
    TRITONSERVER_ResponseAllocatorStartFn_t start_fn) {
  TRITONHOST_REQUIRE(allocator);
  TRITONHOST_REQUIRE(alloc_fn);
  auto* const created = new TRITONSERVER_ResponseAllocator;
  created->alloc_fn = alloc_fn;
  created->release_fn = release_fn;
  created->start_fn = start_fn;
  *allocator = created;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_ResponseAllocatorSetBufferAttributesFunction(
    TRITONSERVER_ResponseAllocator* allocator, TRITONSERVER_ResponseAllocatorBufferAttributesFn_t buffer_attributes_fn) {
  TRITONHOST_REQUIRE(allocator);
  allocator->buffer_attributes_fn = buffer_attributes_fn;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_ResponseAllocatorSetQueryFunction(
    TRITONSERVER_ResponseAllocator* allocator, TRITONSERVER_ResponseAllocatorQueryFn_t query_fn) {
  TRITONHOST_REQUIRE(allocator);
  allocator->query_fn = query_fn;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_ResponseAllocatorDelete(TRITONSERVER_ResponseAllocator* allocator) {
  delete allocator;
  return nullptr;
}

// ---- Responses ----

TRITONSERVER_Error* TRITONSERVER_InferenceResponseDelete(TRITONSERVER_InferenceResponse* response) {
  delete response;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceResponseError(TRITONSERVER_InferenceResponse* response) {
  TRITONHOST_REQUIRE(response);
  return response->error.get();
}

TRITONSERVER_Error* TRITONSERVER_InferenceResponseModel(TRITONSERVER_InferenceResponse* response, const char** model_name, int64_t* model_version) {
  TRITONHOST_REQUIRE(response);
  *model_name = response->model_name.c_str();
  *model_version = response->model_version;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceResponseId(TRITONSERVER_InferenceResponse* response, const char** request_id) {
  TRITONHOST_REQUIRE(response);
  *request_id = response->id.c_str();
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceResponseParameterCount(TRITONSERVER_InferenceResponse* response, uint32_t* count) {
  TRITONHOST_REQUIRE(response);
  *count = static_cast<uint32_t>(response->parameters.size());
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceResponseParameter(
    TRITONSERVER_InferenceResponse* response, const uint32_t index, const char** name, TRITONSERVER_ParameterType* type, const void** value) {
  TRITONHOST_REQUIRE(response);
  if (index >= response->parameters.size()) return OutOfBounds(index, "response has", response->parameters.size(), "parameters");
  const TRITONSERVER_Parameter& parameter = response->parameters[index];
  *name = parameter.name.c_str();
  *type = parameter.type;
  *value = parameter.Value();
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceResponseOutputCount(TRITONSERVER_InferenceResponse* response, uint32_t* count) {
  TRITONHOST_REQUIRE(response);
  *count = static_cast<uint32_t>(response->outputs.size());
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceResponseOutput(
    TRITONSERVER_InferenceResponse* response, const uint32_t index, const char** name, TRITONSERVER_DataType* datatype, const int64_t** shape, uint64_t* dim_count,
    const void** base, size_t* byte_size, TRITONSERVER_MemoryType* memory_type, int64_t* memory_type_id, void** buffer_userp) {
  TRITONHOST_REQUIRE(response);
  if (index >= response->outputs.size()) return OutOfBounds(index, "response has", response->outputs.size(), "outputs");
  const TRITONSERVER_InferenceResponse::Output& output = response->outputs[index];
  *name = output.name.c_str();
  *datatype = output.datatype;
  *shape = output.shape.data();
  *dim_count = output.shape.size();
  *base = output.base;
  *byte_size = output.attributes.byte_size;
  *memory_type = output.attributes.memory_type;
  *memory_type_id = output.attributes.memory_type_id;
  *buffer_userp = output.userp;
  return nullptr;
}
