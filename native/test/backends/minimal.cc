// Returns each input as the output of the same name, and tells in parameters of the response all it was told. The first lesson: life cycle, identity,
// configuration, states, statistics.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>

#include "fixture.h"

using namespace fixture;

namespace {

struct BackendState {
  std::string name, config, directory;
  TRITONBACKEND_MemoryManager* memory = nullptr;
};

struct ModelState {
  std::string about;
  TRITONSERVER_Server* server = nullptr;
};

struct InstanceState {
  std::string about;
  ModelState* model = nullptr;
  void* scratch = nullptr;
};

std::uint64_t Now() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count());
}

bool Has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

TRITONSERVER_BufferAttributes* Usage(std::size_t byte_size) {
  TRITONSERVER_BufferAttributes* usage = nullptr;
  Must(TRITONSERVER_BufferAttributesNew(&usage));
  Must(TRITONSERVER_BufferAttributesSetMemoryType(usage, TRITONSERVER_MEMORY_CPU_PINNED));
  Must(TRITONSERVER_BufferAttributesSetMemoryTypeId(usage, 2));
  Must(TRITONSERVER_BufferAttributesSetByteSize(usage, byte_size));
  return usage;
}

void CopyInput(TRITONBACKEND_Request* request, std::uint32_t index, TRITONBACKEND_Response* response) {
  const char* name = nullptr;
  Must(TRITONBACKEND_RequestInputName(request, index, &name));
  TRITONBACKEND_Input* by_name = nullptr;
  Must(TRITONBACKEND_RequestInput(request, name, &by_name));
  TRITONBACKEND_Input* input = nullptr;
  Must(TRITONBACKEND_RequestInputByIndex(request, index, &input));
  if (input != by_name) throw std::runtime_error("input by name and by index differ");
  TRITONSERVER_DataType datatype;
  const std::int64_t* shape = nullptr;
  std::uint32_t dims = 0, buffers = 0;
  std::uint64_t byte_size = 0;
  Must(TRITONBACKEND_InputProperties(input, &name, &datatype, &shape, &dims, &byte_size, &buffers));
  if (TRITONSERVER_StringToDataType(TRITONSERVER_DataTypeString(datatype)) != datatype) throw std::runtime_error("data type names");
  TRITONBACKEND_Output* output = nullptr;
  Must(TRITONBACKEND_ResponseOutput(response, &output, name, datatype, shape, dims));
  void* target = nullptr;
  TRITONSERVER_MemoryType memory_type = TRITONSERVER_MEMORY_GPU;
  std::int64_t memory_type_id = 7;
  Must(TRITONBACKEND_OutputBuffer(output, &target, byte_size, &memory_type, &memory_type_id));
  if (std::string(TRITONSERVER_MemoryTypeString(memory_type)) != "CPU" || memory_type_id != 0) throw std::runtime_error("output memory");
  for (std::uint32_t piece = 0; piece < buffers; ++piece) {
    const void* source = nullptr;
    std::uint64_t size = 0;
    Must(TRITONBACKEND_InputBuffer(input, piece, &source, &size, &memory_type, &memory_type_id));
    std::memcpy(target, source, size);
    target = static_cast<char*>(target) + size;
  }
}

// Adds the number of the input VALUE to the state, which comes in as the input STATE_IN, and keeps the sum as STATE_OUT.
void Accumulate(TRITONBACKEND_Request* request, TRITONBACKEND_Response* response) {
  const std::int32_t sum = Numbers(request, "STATE_IN").at(0) + Numbers(request, "VALUE").at(0);
  const std::int64_t shape[] = {1};
  TRITONBACKEND_State* state = nullptr;
  Must(TRITONBACKEND_StateNew(&state, request, "STATE_OUT", TRITONSERVER_TYPE_INT32, shape, 1));
  void* buffer = nullptr;
  TRITONSERVER_MemoryType memory_type = TRITONSERVER_MEMORY_CPU;
  std::int64_t memory_type_id = 0;
  Must(TRITONBACKEND_StateBuffer(state, &buffer, sizeof sum, &memory_type, &memory_type_id));
  std::memcpy(buffer, &sum, sizeof sum);
  Must(TRITONBACKEND_StateUpdate(state));
  AddNumbers(response, "SUM", {sum});
}

void TellAbout(TRITONBACKEND_Request* request, TRITONBACKEND_Response* response) {
  const char* id = nullptr;
  Must(TRITONBACKEND_RequestId(request, &id));
  Must(TRITONBACKEND_ResponseSetStringParameter(response, "id", id));
  std::uint64_t correlation = 0;
  TRITONSERVER_Error* const no_number = TRITONBACKEND_RequestCorrelationId(request, &correlation);
  if (no_number == nullptr) {
    Must(TRITONBACKEND_ResponseSetIntParameter(response, "correlation", static_cast<std::int64_t>(correlation)));
  } else {
    Must(TRITONBACKEND_ResponseSetStringParameter(response, "correlation_error", TRITONSERVER_ErrorMessage(no_number)));
    Must(TRITONBACKEND_ResponseSetBoolParameter(response, "is_invalid_argument", TRITONSERVER_ErrorCode(no_number) == TRITONSERVER_ERROR_INVALID_ARG));
    TRITONSERVER_ErrorDelete(no_number);
    const char* text = nullptr;
    Must(TRITONBACKEND_RequestCorrelationIdString(request, &text));
    Must(TRITONBACKEND_ResponseSetStringParameter(response, "correlation", text));
  }
  std::uint32_t flags = 0;
  Must(TRITONBACKEND_RequestFlags(request, &flags));
  Must(TRITONBACKEND_ResponseSetIntParameter(response, "flags", flags));
  std::uint64_t timeout_us = 0;
  Must(TRITONBACKEND_InferenceRequestTimeoutMicroseconds(request, &timeout_us));
  Must(TRITONBACKEND_ResponseSetDoubleParameter(response, "timeout_s", static_cast<double>(timeout_us) / 1e6));
  bool is_cancelled = false;
  Must(TRITONBACKEND_RequestIsCancelled(request, &is_cancelled));
  Must(TRITONBACKEND_ResponseSetBoolParameter(response, "is_cancelled", is_cancelled));
  std::uint32_t outputs = 0;
  Must(TRITONBACKEND_RequestOutputCount(request, &outputs));
  std::string names;
  for (std::uint32_t index = 0; index < outputs; ++index) {
    const char* name = nullptr;
    Must(TRITONBACKEND_RequestOutputName(request, index, &name));
    names += (names.empty() ? "" : ",") + std::string(name);
  }
  Must(TRITONBACKEND_ResponseSetStringParameter(response, "outputs", names.c_str()));
  std::uint32_t parameters = 0;
  Must(TRITONBACKEND_RequestParameterCount(request, &parameters));
  for (std::uint32_t index = 0; index < parameters; ++index) {
    const char* key = nullptr;
    TRITONSERVER_ParameterType type;
    const void* value = nullptr;
    Must(TRITONBACKEND_RequestParameter(request, index, &key, &type, &value));
    if (type == TRITONSERVER_PARAMETER_INT) Must(TRITONBACKEND_ResponseSetIntParameter(response, key, *static_cast<const std::int64_t*>(value)));
    if (type == TRITONSERVER_PARAMETER_STRING) Must(TRITONBACKEND_ResponseSetStringParameter(response, key, static_cast<const char*>(value)));
  }
  TRITONSERVER_InferenceTrace* trace = nullptr;
  Must(TRITONBACKEND_RequestTrace(request, &trace));
  if (trace != nullptr) {
    const char* context = nullptr;
    Must(TRITONSERVER_InferenceTraceContext(trace, &context));
    Must(TRITONSERVER_InferenceTraceReportActivity(trace, 1234, (std::string("minimal") + context).c_str()));
  }
}

}  // namespace

extern "C" {

TRITONSERVER_Error* TRITONBACKEND_Initialize(TRITONBACKEND_Backend* backend) {
  return EntryPoint([&] {
    std::uint32_t major = 0, minor = 0;
    Must(TRITONBACKEND_ApiVersion(&major, &minor));
    if (major != TRITONBACKEND_API_VERSION_MAJOR || minor < TRITONBACKEND_API_VERSION_MINOR) {
      throw std::runtime_error("Triton backend API version does not support this backend");
    }
    auto* const state = new BackendState;
    const char* text = nullptr;
    Must(TRITONBACKEND_BackendName(backend, &text));
    state->name = text;
    TRITONSERVER_Message* config = nullptr;
    Must(TRITONBACKEND_BackendConfig(backend, &config));
    state->config = Json(config);
    TRITONBACKEND_ArtifactType artifact_type;
    Must(TRITONBACKEND_BackendArtifacts(backend, &artifact_type, &text));
    state->directory = text;
    Must(TRITONBACKEND_BackendMemoryManager(backend, &state->memory));
    Must(TRITONBACKEND_BackendSetState(backend, state));
    Log(TRITONSERVER_LOG_INFO, "initialize " + state->name + " " + state->config);
  });
}

TRITONSERVER_Error* TRITONBACKEND_Finalize(TRITONBACKEND_Backend* backend) {
  return EntryPoint([&] {
    void* state = nullptr;
    Must(TRITONBACKEND_BackendState(backend, &state));
    Log(TRITONSERVER_LOG_INFO, "finalize " + static_cast<BackendState*>(state)->name);
    delete static_cast<BackendState*>(state);
  });
}

// Named by an article, declared by no header: to be noticed, never called.
__attribute__((visibility("default"))) TRITONSERVER_Error* TRITONBACKEND_BackendControl() { std::abort(); }

TRITONSERVER_Error* TRITONBACKEND_GetBackendAttribute(TRITONBACKEND_Backend* backend, TRITONBACKEND_BackendAttribute* attributes) {
  return EntryPoint([&] {
    void* state = nullptr;
    Must(TRITONBACKEND_BackendState(backend, &state));
    if (Has(static_cast<BackendState*>(state)->config, "fail_attributes")) {
      void* kept = nullptr;
      Must(TRITONBACKEND_MemoryManagerAllocate(static_cast<BackendState*>(state)->memory, &kept, TRITONSERVER_MEMORY_CPU, 0, 100));
      throw std::runtime_error("told to fail");
    }
    if (Has(static_cast<BackendState*>(state)->config, "device_blocking")) Must(TRITONBACKEND_BackendSetExecutionPolicy(backend, TRITONBACKEND_EXECUTION_DEVICE_BLOCKING));
    const std::uint64_t devices[] = {1, 3};
    Must(TRITONBACKEND_BackendAttributeAddPreferredInstanceGroup(attributes, TRITONSERVER_INSTANCEGROUPKIND_GPU, 2, devices, 2));
    Must(TRITONBACKEND_BackendAttributeSetParallelModelInstanceLoading(attributes, true));
  });
}

TRITONSERVER_Error* TRITONBACKEND_ModelInitialize(TRITONBACKEND_Model* model) {
  return EntryPoint([&] {
    auto* const state = new ModelState;
    Must(TRITONBACKEND_ModelSetState(model, state));
    const char* name = nullptr;
    Must(TRITONBACKEND_ModelName(model, &name));
    std::uint64_t version = 0;
    Must(TRITONBACKEND_ModelVersion(model, &version));
    TRITONBACKEND_ArtifactType artifact_type;
    const char* directory = nullptr;
    Must(TRITONBACKEND_ModelRepository(model, &artifact_type, &directory));
    TRITONBACKEND_Backend* backend = nullptr;
    Must(TRITONBACKEND_ModelBackend(model, &backend));
    Must(TRITONBACKEND_ModelServer(model, &state->server));
    TRITONSERVER_Message* config = nullptr;
    Must(TRITONBACKEND_ModelConfig(model, 1, &config));
    std::string json = Json(config);
    Must(TRITONSERVER_MessageDelete(config));
    state->about = std::string(name) + " " + std::to_string(version) + " " + directory + " " + json;
    if (Has(json, "fail_model_initialize")) throw std::runtime_error("told to fail");
    bool completes = false;
    Must(TRITONBACKEND_ModelAutoCompleteConfig(model, &completes));
    if (completes) {
      json.insert(json.size() - 1, R"(,"max_batch_size":4)");
      TRITONSERVER_Message* completed = nullptr;
      Must(TRITONSERVER_MessageNewFromSerializedJson(&completed, json.data(), json.size()));
      Must(TRITONBACKEND_ModelSetConfig(model, 1, completed));
      Must(TRITONSERVER_MessageDelete(completed));
    }
    TRITONSERVER_BufferAttributes* usage = Usage(1000);
    Must(TRITONBACKEND_ModelReportMemoryUsage(model, &usage, 1));
    Must(TRITONSERVER_BufferAttributesDelete(usage));
  });
}

TRITONSERVER_Error* TRITONBACKEND_ModelFinalize(TRITONBACKEND_Model* model) {
  return EntryPoint([&] {
    void* state = nullptr;
    Must(TRITONBACKEND_ModelState(model, &state));
    Log(TRITONSERVER_LOG_INFO, "finalize model");
    delete static_cast<ModelState*>(state);
  });
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceInitialize(TRITONBACKEND_ModelInstance* instance) {
  return EntryPoint([&] {
    auto* const state = new InstanceState;
    Must(TRITONBACKEND_ModelInstanceSetState(instance, state));
    TRITONBACKEND_Model* model = nullptr;
    Must(TRITONBACKEND_ModelInstanceModel(instance, &model));
    void* model_state = nullptr;
    Must(TRITONBACKEND_ModelState(model, &model_state));
    state->model = static_cast<ModelState*>(model_state);
    TRITONBACKEND_Backend* backend = nullptr;
    Must(TRITONBACKEND_ModelBackend(model, &backend));
    void* backend_state = nullptr;
    Must(TRITONBACKEND_BackendState(backend, &backend_state));
    const char* name = nullptr;
    Must(TRITONBACKEND_ModelInstanceName(instance, &name));
    TRITONSERVER_InstanceGroupKind kind;
    Must(TRITONBACKEND_ModelInstanceKind(instance, &kind));
    std::int32_t device = 0;
    Must(TRITONBACKEND_ModelInstanceDeviceId(instance, &device));
    TRITONSERVER_Message* policy = nullptr;
    Must(TRITONBACKEND_ModelInstanceHostPolicy(instance, &policy));
    state->about = std::string(name) + " " + TRITONSERVER_InstanceGroupKindString(kind) + " " + std::to_string(device) + " " + Json(policy);
    if (Has(name, "fails")) throw std::runtime_error("told to fail");
    TRITONBACKEND_MemoryManager* const memory = static_cast<BackendState*>(backend_state)->memory;
    Must(TRITONBACKEND_MemoryManagerAllocate(memory, &state->scratch, TRITONSERVER_MEMORY_CPU_PINNED, 0, 100));
    TRITONSERVER_BufferAttributes* usage = Usage(100);
    Must(TRITONBACKEND_ModelInstanceReportMemoryUsage(instance, &usage, 1));
    Must(TRITONSERVER_BufferAttributesDelete(usage));
  });
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceFinalize(TRITONBACKEND_ModelInstance* instance) {
  return EntryPoint([&] {
    void* state = nullptr;
    Must(TRITONBACKEND_ModelInstanceState(instance, &state));
    TRITONBACKEND_Model* model = nullptr;
    Must(TRITONBACKEND_ModelInstanceModel(instance, &model));
    TRITONBACKEND_Backend* backend = nullptr;
    Must(TRITONBACKEND_ModelBackend(model, &backend));
    void* backend_state = nullptr;
    Must(TRITONBACKEND_BackendState(backend, &backend_state));
    auto* const mine = static_cast<InstanceState*>(state);
    if (mine->scratch != nullptr) {
      Must(TRITONBACKEND_MemoryManagerFree(static_cast<BackendState*>(backend_state)->memory, mine->scratch, TRITONSERVER_MEMORY_CPU_PINNED, 0));
    }
    Log(TRITONSERVER_LOG_INFO, "finalize instance");
    delete mine;
  });
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceReady(TRITONBACKEND_ModelInstance* instance) {
  return EntryPoint([&] {
    const char* name = nullptr;
    Must(TRITONBACKEND_ModelInstanceName(instance, &name));
    if (Has(name, "unready")) throw std::runtime_error("not ready");
  });
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceExecute(TRITONBACKEND_ModelInstance* instance, TRITONBACKEND_Request** requests, const std::uint32_t count) {
  const std::uint64_t started = Now();
  void* state = nullptr;
  for (std::uint32_t index = 0; index < count; ++index) {
    if (Parameter(requests[index], "fail") == "batch") return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_UNAVAILABLE, "told to fail the batch");
  }
  TRITONSERVER_Error* const no_state = TRITONBACKEND_ModelInstanceState(instance, &state);
  if (no_state != nullptr) return no_state;
  for (std::uint32_t index = 0; index < count; ++index) {
    TRITONBACKEND_Request* const request = requests[index];
    TRITONBACKEND_Response* response = nullptr;
    TRITONSERVER_Error* error = EntryPoint([&] {
      Must(TRITONBACKEND_ResponseNew(&response, request));
      Must(TRITONBACKEND_ResponseSetStringParameter(response, "instance", static_cast<InstanceState*>(state)->about.c_str()));
      Must(TRITONBACKEND_ResponseSetStringParameter(response, "model", static_cast<InstanceState*>(state)->model->about.c_str()));
      if (Parameter(request, "do") == "tell_thread") Must(TRITONBACKEND_ResponseSetIntParameter(response, "thread", static_cast<std::int64_t>(gettid())));
      TellAbout(request, response);
      if (Parameter(request, "do") == "accumulate") {
        Accumulate(request, response);
      } else {
        std::uint32_t inputs = 0;
        Must(TRITONBACKEND_RequestInputCount(request, &inputs));
        for (std::uint32_t input = 0; input < inputs; ++input) CopyInput(request, input, response);
      }
      if (Parameter(request, "fail") == "one") throw std::runtime_error("told to fail this one");
    });
    const bool is_success = error == nullptr;
    TRITONSERVER_Error* failures[] = {
        TRITONBACKEND_ResponseSend(response, TRITONSERVER_RESPONSE_COMPLETE_FINAL, error),
        TRITONBACKEND_ModelInstanceReportStatistics(instance, request, is_success, started, started + 1, started + 2, Now()),
        TRITONBACKEND_RequestRelease(request, TRITONSERVER_REQUEST_RELEASE_ALL),
    };
    TRITONSERVER_ErrorDelete(error);
    for (TRITONSERVER_Error* failure : failures) {
      if (failure == nullptr) continue;
      TRITONSERVER_LogMessage(TRITONSERVER_LOG_ERROR, __FILE__, __LINE__, TRITONSERVER_ErrorMessage(failure));
      TRITONSERVER_ErrorDelete(failure);
    }
  }
  return TRITONBACKEND_ModelInstanceReportBatchStatistics(instance, count, started, started + 1, started + 2, Now());
}

}  // extern "C"
