// Business logic scripting: answers a request with what another model answers. The parameter "do" says how: "infer" passes the input X on to model "target" and
// the output Y back; "cancel" cancels its request first; "throw_in_allocate", "throw_in_response" and "throw_in_release" throw a number out of that callback;
// "ready", "load", "unload", "unload_all" and "transaction" ask the server. With the parameter "trace" it traces the request it sends, and says what it heard.
#include <condition_variable>
#include <cstdlib>
#include <mutex>

#include "fixture.h"

using namespace fixture;

namespace {

// One request that this backend sent, and what came back.
struct Call {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_released = false;
  bool is_final = false;
  bool is_traced = false;
  std::string activities;
  int buffers = 0;
  std::vector<std::int32_t> numbers;
  std::string parameters;
  std::string error;
  std::string throws_in;  // the callback that does
};

TRITONSERVER_Error* Allocate(
    TRITONSERVER_ResponseAllocator*, const char*, std::size_t byte_size, TRITONSERVER_MemoryType, std::int64_t, void* userp, void** buffer, void** buffer_userp,
    TRITONSERVER_MemoryType* memory_type, std::int64_t* memory_type_id) {
  if (static_cast<Call*>(userp)->throws_in == "allocate") throw 5;
  ++static_cast<Call*>(userp)->buffers;
  *buffer = byte_size == 0 ? nullptr : std::malloc(byte_size);
  *buffer_userp = userp;
  *memory_type = TRITONSERVER_MEMORY_CPU;
  *memory_type_id = 0;
  return nullptr;
}

TRITONSERVER_Error* Free(TRITONSERVER_ResponseAllocator*, void* buffer, void* buffer_userp, std::size_t, TRITONSERVER_MemoryType, std::int64_t) {
  --static_cast<Call*>(buffer_userp)->buffers;
  std::free(buffer);
  return nullptr;
}

TRITONSERVER_Error* Query(TRITONSERVER_ResponseAllocator*, void*, const char*, std::size_t*, TRITONSERVER_MemoryType* memory_type, std::int64_t* memory_type_id) {
  *memory_type = TRITONSERVER_MEMORY_CPU;
  *memory_type_id = 0;
  return nullptr;
}

void ReadResponse(TRITONSERVER_InferenceResponse* response, Call* call) {
  if (TRITONSERVER_Error* const error = TRITONSERVER_InferenceResponseError(response)) {
    call->error = std::string(TRITONSERVER_ErrorCodeString(error)) + ": " + TRITONSERVER_ErrorMessage(error);
    return;
  }
  std::uint32_t outputs = 0;
  Must(TRITONSERVER_InferenceResponseOutputCount(response, &outputs));
  for (std::uint32_t index = 0; index < outputs; ++index) {
    const char* name = nullptr;
    TRITONSERVER_DataType datatype;
    const std::int64_t* shape = nullptr;
    std::uint64_t dims = 0;
    const void* base = nullptr;
    std::size_t byte_size = 0;
    TRITONSERVER_MemoryType memory_type;
    std::int64_t memory_type_id = 0;
    void* userp = nullptr;
    Must(TRITONSERVER_InferenceResponseOutput(response, index, &name, &datatype, &shape, &dims, &base, &byte_size, &memory_type, &memory_type_id, &userp));
    const auto* const numbers = static_cast<const std::int32_t*>(base);
    call->numbers.insert(call->numbers.end(), numbers, numbers + byte_size / sizeof(std::int32_t));
  }
  std::uint32_t parameters = 0;
  Must(TRITONSERVER_InferenceResponseParameterCount(response, &parameters));
  for (std::uint32_t index = 0; index < parameters; ++index) {
    const char* name = nullptr;
    TRITONSERVER_ParameterType type;
    const void* value = nullptr;
    Must(TRITONSERVER_InferenceResponseParameter(response, index, &name, &type, &value));
    if (type == TRITONSERVER_PARAMETER_STRING) call->parameters += std::string(name) + "=" + static_cast<const char*>(value) + ";";
  }
}

void Complete(TRITONSERVER_InferenceResponse* response, const std::uint32_t flags, void* userp) {
  auto* const call = static_cast<Call*>(userp);
  if (response != nullptr) {
    ReadResponse(response, call);
    Must(TRITONSERVER_InferenceResponseDelete(response));
  }
  const std::lock_guard lock(call->mutex);
  if ((flags & TRITONSERVER_RESPONSE_COMPLETE_FINAL) != 0) call->is_final = true;
  call->changed.notify_all();
  if (call->throws_in == "response") throw 5;
}

void Released(TRITONSERVER_InferenceRequest*, const std::uint32_t, void* userp) {
  auto* const call = static_cast<Call*>(userp);
  const std::lock_guard lock(call->mutex);
  call->is_released = true;
  call->changed.notify_all();
  if (call->throws_in == "release") throw 5;
}

void Heard(TRITONSERVER_InferenceTrace* trace, TRITONSERVER_InferenceTraceActivity activity, std::uint64_t timestamp_ns, void* userp) {
  const char *model = nullptr, *id = nullptr;
  std::int64_t version = 0;
  Must(TRITONSERVER_InferenceTraceModelName(trace, &model));
  Must(TRITONSERVER_InferenceTraceModelVersion(trace, &version));
  Must(TRITONSERVER_InferenceTraceRequestId(trace, &id));
  auto* const call = static_cast<Call*>(userp);
  const std::lock_guard lock(call->mutex);
  call->activities += std::string(TRITONSERVER_InferenceTraceActivityString(activity)) + (timestamp_ns == 0 ? " at no time" : "") + " of " + id + " to " + model + " " +
                      std::to_string(version) + ";";
}

void EndTrace(TRITONSERVER_InferenceTrace* trace, void* userp) {
  Must(TRITONSERVER_InferenceTraceDelete(trace));
  auto* const call = static_cast<Call*>(userp);
  const std::lock_guard lock(call->mutex);
  call->is_traced = false;
  call->changed.notify_all();
}

void Infer(TRITONSERVER_Server* server, TRITONBACKEND_Request* request, const std::string& target, bool cancels, Call* call) {
  TRITONSERVER_ResponseAllocator* allocator = nullptr;
  Must(TRITONSERVER_ResponseAllocatorNew(&allocator, Allocate, Free, nullptr));
  Must(TRITONSERVER_ResponseAllocatorSetQueryFunction(allocator, Query));
  TRITONSERVER_InferenceRequest* sent = nullptr;
  Must(TRITONSERVER_InferenceRequestNew(&sent, server, target.c_str(), -1));
  const std::vector<std::int32_t> numbers = Numbers(request, "X");
  const std::int64_t shape[] = {static_cast<std::int64_t>(numbers.size())};
  Must(TRITONSERVER_InferenceRequestSetId(sent, "from bls"));
  Must(TRITONSERVER_InferenceRequestSetFlags(sent, TRITONSERVER_REQUEST_FLAG_SEQUENCE_START));
  Must(TRITONSERVER_InferenceRequestSetCorrelationId(sent, 5));
  Must(TRITONSERVER_InferenceRequestSetCorrelationIdString(sent, "five"));
  Must(TRITONSERVER_InferenceRequestSetTimeoutMicroseconds(sent, 2'000'000));
  Must(TRITONSERVER_InferenceRequestSetStringParameter(sent, "color", "red"));
  Must(TRITONSERVER_InferenceRequestSetIntParameter(sent, "number", -3));
  Must(TRITONSERVER_InferenceRequestSetBoolParameter(sent, "yes", true));
  Must(TRITONSERVER_InferenceRequestAddInput(sent, "X", TRITONSERVER_TYPE_INT32, shape, 1));
  // In two pieces.
  const std::size_t half = numbers.size() / 2;
  Must(TRITONSERVER_InferenceRequestAppendInputData(sent, "X", numbers.data(), half * sizeof(std::int32_t), TRITONSERVER_MEMORY_CPU, 0));
  Must(TRITONSERVER_InferenceRequestAppendInputData(sent, "X", numbers.data() + half, (numbers.size() - half) * sizeof(std::int32_t), TRITONSERVER_MEMORY_CPU, 0));
  Must(TRITONSERVER_InferenceRequestAddRequestedOutput(sent, "Y"));
  Must(TRITONSERVER_InferenceRequestSetReleaseCallback(sent, Released, call));
  Must(TRITONSERVER_InferenceRequestSetResponseCallback(sent, allocator, call, Complete, call));
  TRITONSERVER_InferenceTrace* trace = nullptr;
  Must(TRITONBACKEND_RequestTrace(request, &trace));
  TRITONSERVER_InferenceTrace* child = nullptr;
  if (trace != nullptr) Must(TRITONSERVER_InferenceTraceSpawnChildTrace(trace, &child));
  if (!Parameter(request, "trace").empty()) {
    call->is_traced = true;
    Must(TRITONSERVER_InferenceTraceNew(&child, TRITONSERVER_TRACE_LEVEL_TIMESTAMPS, 0, Heard, EndTrace, call));
  }
  Must(TRITONSERVER_ServerInferAsync(server, sent, child));
  if (cancels) Must(TRITONSERVER_InferenceRequestCancel(sent));
  {
    std::unique_lock lock(call->mutex);
    call->changed.wait(lock, [&] { return call->is_final && call->is_released && !call->is_traced; });
  }
  Must(TRITONSERVER_InferenceRequestDelete(sent));
  Must(TRITONSERVER_ResponseAllocatorDelete(allocator));
}

std::string Do(TRITONSERVER_Server* server, TRITONBACKEND_Request* request, Call* call) {
  const std::string what = Parameter(request, "do");
  const std::string target = Parameter(request, "target");
  if (what.starts_with("throw_in_")) call->throws_in = what.substr(std::strlen("throw_in_"));
  if (what == "infer" || what == "cancel" || !call->throws_in.empty()) {
    Infer(server, request, target, what == "cancel", call);
    if (!call->error.empty()) throw std::runtime_error(call->error);
    if (call->buffers != 0) throw std::runtime_error("buffers of the response were not released");
    return call->parameters + call->activities;
  }
  if (what == "ready") {
    bool is_ready = false;
    Must(TRITONSERVER_ServerModelIsReady(server, target.c_str(), 1, &is_ready));
    return is_ready ? "ready" : "not ready";
  }
  if (what == "transaction") {
    std::uint32_t flags = 0;
    void* reserved = nullptr;
    Must(TRITONSERVER_ServerModelTransactionProperties(server, target.c_str(), -1, &flags, &reserved));
    return flags == TRITONSERVER_TXN_DECOUPLED ? "decoupled" : "one to one";
  }
  if (what == "load") {
    TRITONSERVER_Parameter* config = TRITONSERVER_ParameterNew("config", TRITONSERVER_PARAMETER_STRING, "{}");
    TRITONSERVER_Parameter* file = TRITONSERVER_ParameterBytesNew("file:1/model", "a\0b", 3);
    const TRITONSERVER_Parameter* parameters[] = {config, file};
    TRITONSERVER_Error* const error = TRITONSERVER_ServerLoadModelWithParameters(server, target.c_str(), parameters, 2);
    TRITONSERVER_ParameterDelete(config);
    TRITONSERVER_ParameterDelete(file);
    Must(error);
    return "loaded";
  }
  if (what == "unload") {
    Must(TRITONSERVER_ServerUnloadModel(server, target.c_str()));
    return "unloaded";
  }
  Must(TRITONSERVER_ServerUnloadModelAndDependents(server, target.c_str()));
  return "all unloaded";
}

}  // namespace

extern "C" {

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceExecute(TRITONBACKEND_ModelInstance* instance, TRITONBACKEND_Request** requests, const std::uint32_t count) {
  return EntryPoint([&] {
    TRITONBACKEND_Model* model = nullptr;
    Must(TRITONBACKEND_ModelInstanceModel(instance, &model));
    TRITONSERVER_Server* server = nullptr;
    Must(TRITONBACKEND_ModelServer(model, &server));
    for (std::uint32_t index = 0; index < count; ++index) {
      Call call;
      TRITONBACKEND_Response* response = nullptr;
      Must(TRITONBACKEND_ResponseNew(&response, requests[index]));
      TRITONSERVER_Error* const error = EntryPoint([&] {
        const std::string said = Do(server, requests[index], &call);
        AddNumbers(response, "Y", call.numbers);
        Must(TRITONBACKEND_ResponseSetStringParameter(response, "said", said.c_str()));
      });
      Must(TRITONBACKEND_ResponseSend(response, TRITONSERVER_RESPONSE_COMPLETE_FINAL, error));
      TRITONSERVER_ErrorDelete(error);
      Must(TRITONBACKEND_RequestRelease(requests[index], TRITONSERVER_REQUEST_RELEASE_ALL));
    }
  });
}

}  // extern "C"
