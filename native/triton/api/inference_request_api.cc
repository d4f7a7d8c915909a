// TRITONSERVER_InferenceRequest: what a backend asks of another model.
#include <algorithm>

#include "bridge.h"

using npu_console::triton::InvalidArgument;
using npu_console::triton::MakeError;

namespace {

using Request = TRITONSERVER_InferenceRequest;

TRITONSERVER_Error* FindInput(Request* request, const char* name, Request::Input** input) {
  const auto found = std::find_if(request->inputs.begin(), request->inputs.end(), [name](const auto& candidate) { return candidate.name == name; });
  if (found == request->inputs.end()) return InvalidArgument(std::string("input '") + name + "' does not exist in request");
  *input = &*found;
  return nullptr;
}

TRITONSERVER_Error* AppendData(Request* request, const char* name, const void* base, size_t byte_size, TRITONSERVER_MemoryType memory_type) {
  Request::Input* input = nullptr;
  if (TRITONSERVER_Error* error = FindInput(request, name, &input)) return error;
  if (memory_type == TRITONSERVER_MEMORY_GPU) {
    return MakeError(TRITONSERVER_ERROR_UNSUPPORTED, std::string("input '") + name + "' lies in GPU memory: this server takes CPU memory only");
  }
  if (byte_size > 0) input->buffers.push_back({base, byte_size});
  return nullptr;
}

TRITONSERVER_Error* AddParameter(Request* request, const char* key, TRITONSERVER_Parameter parameter) {
  parameter.name = key;
  request->parameters.push_back(std::move(parameter));
  return nullptr;
}

// It is the server's between sending and the release callback.
TRITONSERVER_Error* CheckIdle(const Request* request, const char* function) {
  if (request == nullptr) return InvalidArgument(std::string(function) + ": request is NULL");
  if (request->token == 0) return nullptr;
  return InvalidArgument(std::string(function) + ": the inference request for model '" + request->model_name + "' is in the server: wait for its release callback");
}

#define REQUIRE_IDLE(request) \
  if (TRITONSERVER_Error* error = CheckIdle(request, __func__)) return error

}  // namespace

TRITONSERVER_Error* TRITONSERVER_InferenceRequestNew(
    TRITONSERVER_InferenceRequest** request, TRITONSERVER_Server* server, const char* model_name, const int64_t model_version) {
  TRITONHOST_REQUIRE(request);
  TRITONHOST_REQUIRE(server);
  TRITONHOST_REQUIRE(model_name);
  auto* const created = new TRITONSERVER_InferenceRequest;
  created->server = server;
  created->model_name = model_name;
  created->model_version = model_version;
  *request = created;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestDelete(TRITONSERVER_InferenceRequest* request) {
  REQUIRE_IDLE(request);
  delete request;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestId(TRITONSERVER_InferenceRequest* request, const char** id) {
  TRITONHOST_REQUIRE(request);
  *id = request->id.c_str();
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetId(TRITONSERVER_InferenceRequest* request, const char* id) {
  REQUIRE_IDLE(request);
  TRITONHOST_REQUIRE(id);
  request->id = id;
  return nullptr;
}

#define REQUEST_NUMBER(Name, Type, member)                                                                              \
  TRITONSERVER_Error* TRITONSERVER_InferenceRequest##Name(TRITONSERVER_InferenceRequest* request, Type* member) {       \
    TRITONHOST_REQUIRE(request);                                                                                        \
    *member = request->member;                                                                                          \
    return nullptr;                                                                                                     \
  }                                                                                                                     \
  TRITONSERVER_Error* TRITONSERVER_InferenceRequestSet##Name(TRITONSERVER_InferenceRequest* request, Type member) {     \
    REQUIRE_IDLE(request);                                                                                              \
    request->member = member;                                                                                           \
    return nullptr;                                                                                                     \
  }
REQUEST_NUMBER(Flags, uint32_t, flags)
REQUEST_NUMBER(PriorityUInt64, uint64_t, priority)
REQUEST_NUMBER(TimeoutMicroseconds, uint64_t, timeout_us)
#undef REQUEST_NUMBER

TRITONSERVER_Error* TRITONSERVER_InferenceRequestPriority(TRITONSERVER_InferenceRequest* request, uint32_t* priority) {
  TRITONHOST_REQUIRE(request);
  if (request->priority > UINT32_MAX) {
    return InvalidArgument("request priority overflows uint32_t, use TRITONSERVER_InferenceRequestPriorityUInt64, priority=" + std::to_string(request->priority));
  }
  *priority = static_cast<uint32_t>(request->priority);
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetPriority(TRITONSERVER_InferenceRequest* request, uint32_t priority) {
  return TRITONSERVER_InferenceRequestSetPriorityUInt64(request, priority);
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestCorrelationId(TRITONSERVER_InferenceRequest* request, uint64_t* correlation_id) {
  TRITONHOST_REQUIRE(request);
  if (request->has_correlation_string) return InvalidArgument("given request's correlation id is not an unsigned int");
  *correlation_id = request->correlation_id;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestCorrelationIdString(TRITONSERVER_InferenceRequest* request, const char** correlation_id) {
  TRITONHOST_REQUIRE(request);
  if (!request->has_correlation_string) return InvalidArgument("given request's correlation id is not a string");
  *correlation_id = request->correlation_string.c_str();
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetCorrelationId(TRITONSERVER_InferenceRequest* request, uint64_t correlation_id) {
  REQUIRE_IDLE(request);
  request->correlation_id = correlation_id;
  request->has_correlation_string = false;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetCorrelationIdString(TRITONSERVER_InferenceRequest* request, const char* correlation_id) {
  REQUIRE_IDLE(request);
  TRITONHOST_REQUIRE(correlation_id);
  constexpr std::size_t kLongest = 128;
  if (std::string_view(correlation_id).size() > kLongest) {
    return MakeError(TRITONSERVER_ERROR_UNSUPPORTED, "string correlation ID cannot be longer than 128 characters");
  }
  request->correlation_string = correlation_id;
  request->has_correlation_string = true;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestCancel(TRITONSERVER_InferenceRequest* request) {
  TRITONHOST_REQUIRE(request);
  request->server->bridge->bridge().CancelInfer(request);
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestIsCancelled(TRITONSERVER_InferenceRequest* request, bool* is_cancelled) {
  TRITONHOST_REQUIRE(request);
  *is_cancelled = request->is_cancelled;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestAddInput(
    TRITONSERVER_InferenceRequest* request, const char* name, const TRITONSERVER_DataType datatype, const int64_t* shape, uint64_t dim_count) {
  REQUIRE_IDLE(request);
  TRITONHOST_REQUIRE(name);
  Request::Input* existing = nullptr;
  if (const npu_console::triton::ErrorPtr missing(FindInput(request, name, &existing)); missing == nullptr) {
    return InvalidArgument(std::string("input '") + name + "' already exists in request");
  }
  request->inputs.push_back({name, datatype, {shape, shape + dim_count}, {}});
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestRemoveInput(TRITONSERVER_InferenceRequest* request, const char* name) {
  REQUIRE_IDLE(request);
  TRITONHOST_REQUIRE(name);
  const auto removed = std::erase_if(request->inputs, [name](const auto& input) { return input.name == name; });
  return removed > 0 ? nullptr : InvalidArgument(std::string("input '") + name + "' does not exist in request");
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestRemoveAllInputs(TRITONSERVER_InferenceRequest* request) {
  REQUIRE_IDLE(request);
  request->inputs.clear();
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestAppendInputData(
    TRITONSERVER_InferenceRequest* request, const char* name, const void* base, size_t byte_size, TRITONSERVER_MemoryType memory_type, int64_t) {
  REQUIRE_IDLE(request);
  TRITONHOST_REQUIRE(name);
  return AppendData(request, name, base, byte_size, memory_type);
}

// A backend that lends data per host policy lends the same tensor each time: the first is taken.
TRITONSERVER_Error* TRITONSERVER_InferenceRequestAppendInputDataWithHostPolicy(
    TRITONSERVER_InferenceRequest* request, const char* name, const void* base, size_t byte_size, TRITONSERVER_MemoryType memory_type, int64_t, const char*) {
  REQUIRE_IDLE(request);
  TRITONHOST_REQUIRE(name);
  Request::Input* input = nullptr;
  if (TRITONSERVER_Error* error = FindInput(request, name, &input)) return error;
  if (!input->buffers.empty()) return nullptr;
  return AppendData(request, name, base, byte_size, memory_type);
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestAppendInputDataWithBufferAttributes(
    TRITONSERVER_InferenceRequest* request, const char* name, const void* base, TRITONSERVER_BufferAttributes* buffer_attributes) {
  REQUIRE_IDLE(request);
  TRITONHOST_REQUIRE(name);
  TRITONHOST_REQUIRE(buffer_attributes);
  return AppendData(request, name, base, buffer_attributes->byte_size, buffer_attributes->memory_type);
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestRemoveAllInputData(TRITONSERVER_InferenceRequest* request, const char* name) {
  REQUIRE_IDLE(request);
  TRITONHOST_REQUIRE(name);
  Request::Input* input = nullptr;
  if (TRITONSERVER_Error* error = FindInput(request, name, &input)) return error;
  input->buffers.clear();
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestAddRequestedOutput(TRITONSERVER_InferenceRequest* request, const char* name) {
  REQUIRE_IDLE(request);
  TRITONHOST_REQUIRE(name);
  if (std::find(request->outputs.begin(), request->outputs.end(), name) != request->outputs.end()) {
    return InvalidArgument(std::string("output '") + name + "' already exists in request");
  }
  request->outputs.emplace_back(name);
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestRemoveRequestedOutput(TRITONSERVER_InferenceRequest* request, const char* name) {
  REQUIRE_IDLE(request);
  TRITONHOST_REQUIRE(name);
  std::erase(request->outputs, std::string(name));
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestRemoveAllRequestedOutputs(TRITONSERVER_InferenceRequest* request) {
  REQUIRE_IDLE(request);
  request->outputs.clear();
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetReleaseCallback(
    TRITONSERVER_InferenceRequest* request, TRITONSERVER_InferenceRequestReleaseFn_t release_fn, void* userp) {
  REQUIRE_IDLE(request);
  request->release_fn = release_fn;
  request->release_userp = userp;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetResponseCallback(
    TRITONSERVER_InferenceRequest* request, TRITONSERVER_ResponseAllocator* allocator, void* allocator_userp, TRITONSERVER_InferenceResponseCompleteFn_t response_fn,
    void* userp) {
  REQUIRE_IDLE(request);
  request->allocator = allocator;
  request->allocator_userp = allocator_userp;
  request->response_fn = response_fn;
  request->response_userp = userp;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetStringParameter(TRITONSERVER_InferenceRequest* request, const char* key, const char* value) {
  REQUIRE_IDLE(request);
  TRITONHOST_REQUIRE(key);
  TRITONHOST_REQUIRE(value);
  TRITONSERVER_Parameter parameter;
  parameter.bytes = value;
  return AddParameter(request, key, std::move(parameter));
}

#define REQUEST_PARAMETER(Name, Type, type_value, member)                                                                                                    \
  TRITONSERVER_Error* TRITONSERVER_InferenceRequestSet##Name##Parameter(TRITONSERVER_InferenceRequest* request, const char* key, const Type value) {        \
    REQUIRE_IDLE(request);                                                                                                                                  \
    TRITONHOST_REQUIRE(key);                                                                                                                                \
    TRITONSERVER_Parameter parameter;                                                                                                                       \
    parameter.type = type_value;                                                                                                                            \
    parameter.member = value;                                                                                                                               \
    return AddParameter(request, key, std::move(parameter));                                                                                                \
  }
REQUEST_PARAMETER(Int, int64_t, TRITONSERVER_PARAMETER_INT, integer)
REQUEST_PARAMETER(Bool, bool, TRITONSERVER_PARAMETER_BOOL, boolean)
REQUEST_PARAMETER(Double, double, TRITONSERVER_PARAMETER_DOUBLE, real)
#undef REQUEST_PARAMETER
