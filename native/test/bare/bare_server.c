/* libtritonserver.so of bare_server.h: plain C, own objects, the fewest functions. */
#include "bare_server.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The headers are C++'s where they leave out `struct`. */
typedef struct TRITONBACKEND_Backend TRITONBACKEND_Backend;
typedef struct TRITONBACKEND_BackendAttribute TRITONBACKEND_BackendAttribute;
typedef struct TRITONBACKEND_Batcher TRITONBACKEND_Batcher;
typedef struct TRITONBACKEND_Input TRITONBACKEND_Input;
typedef struct TRITONBACKEND_MemoryManager TRITONBACKEND_MemoryManager;
typedef struct TRITONBACKEND_Model TRITONBACKEND_Model;
typedef struct TRITONBACKEND_ModelInstance TRITONBACKEND_ModelInstance;
typedef struct TRITONBACKEND_ModelInstanceResponseStatistics TRITONBACKEND_ModelInstanceResponseStatistics;
typedef struct TRITONBACKEND_Output TRITONBACKEND_Output;
typedef struct TRITONBACKEND_Request TRITONBACKEND_Request;
typedef struct TRITONBACKEND_Response TRITONBACKEND_Response;
typedef struct TRITONBACKEND_ResponseFactory TRITONBACKEND_ResponseFactory;
typedef struct TRITONBACKEND_State TRITONBACKEND_State;
typedef struct TRITONSERVER_BufferAttributes TRITONSERVER_BufferAttributes;
typedef struct TRITONSERVER_Error TRITONSERVER_Error;
typedef struct TRITONSERVER_InferenceRequest TRITONSERVER_InferenceRequest;
typedef struct TRITONSERVER_InferenceResponse TRITONSERVER_InferenceResponse;
typedef struct TRITONSERVER_InferenceTrace TRITONSERVER_InferenceTrace;
typedef struct TRITONSERVER_Message TRITONSERVER_Message;
typedef struct TRITONSERVER_Metric TRITONSERVER_Metric;
typedef struct TRITONSERVER_MetricArgs TRITONSERVER_MetricArgs;
typedef struct TRITONSERVER_MetricFamily TRITONSERVER_MetricFamily;
typedef struct TRITONSERVER_Metrics TRITONSERVER_Metrics;
typedef struct TRITONSERVER_Parameter TRITONSERVER_Parameter;
typedef struct TRITONSERVER_ResponseAllocator TRITONSERVER_ResponseAllocator;
typedef struct TRITONSERVER_Server TRITONSERVER_Server;
typedef struct TRITONSERVER_ServerOptions TRITONSERVER_ServerOptions;

#include "triton/core/tritonbackend.h"

#define EXPORT __attribute__((visibility("default")))
typedef TRITONSERVER_Error Error;

struct TRITONSERVER_Error { TRITONSERVER_Error_Code code; char* message; };
struct TRITONSERVER_Message { char* json; };
struct TRITONSERVER_BufferAttributes { size_t byte_size; };
struct TRITONBACKEND_Backend { struct TRITONSERVER_Message config; void* state; };
struct TRITONBACKEND_Model { struct TRITONBACKEND_Backend* backend; const BareJob* job; char* config; void* state; };
struct TRITONBACKEND_ModelInstance { struct TRITONBACKEND_Model* model; void* state; };
struct TRITONBACKEND_Request { const BareJob* job; bool is_answered, is_released; char* failure; void* output; size_t output_size; };

static char* Copy(const char* text, size_t size) {
  char* copy = malloc(size + 1);
  memcpy(copy, text, size);
  copy[size] = '\0';
  return copy;
}

/* ---- Errors, messages, types ---- */
EXPORT Error* TRITONSERVER_ErrorNew(TRITONSERVER_Error_Code code, const char* message) {
  Error* error = malloc(sizeof *error);
  error->code = code;
  error->message = Copy(message, strlen(message));
  return error;
}
EXPORT void TRITONSERVER_ErrorDelete(Error* error) {
  if (error == NULL) return;
  free(error->message);
  free(error);
}
EXPORT TRITONSERVER_Error_Code TRITONSERVER_ErrorCode(Error* error) { return error->code; }
EXPORT const char* TRITONSERVER_ErrorMessage(Error* error) { return error->message; }
EXPORT Error* TRITONSERVER_MessageNewFromSerializedJson(struct TRITONSERVER_Message** message, const char* base, size_t size) {
  *message = malloc(sizeof **message);
  (*message)->json = Copy(base, size);
  return NULL;
}
EXPORT Error* TRITONSERVER_MessageSerializeToJson(struct TRITONSERVER_Message* message, const char** base, size_t* size) {
  *base = message->json;
  *size = strlen(message->json);
  return NULL;
}
EXPORT Error* TRITONSERVER_MessageDelete(struct TRITONSERVER_Message* message) {
  free(message->json);
  free(message);
  return NULL;
}
static const char* const kTypes[] = {"<invalid>", "BOOL", "UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32", "INT64", "FP16", "FP32", "FP64", "BYTES", "BF16"};
EXPORT const char* TRITONSERVER_DataTypeString(TRITONSERVER_DataType type) { return kTypes[type]; }
EXPORT TRITONSERVER_DataType TRITONSERVER_StringToDataType(const char* name) {
  for (int type = 1; type <= 14; ++type) {
    if (strcmp(kTypes[type], name) == 0) return (TRITONSERVER_DataType)type;
  }
  return TRITONSERVER_TYPE_INVALID;
}
EXPORT uint32_t TRITONSERVER_DataTypeByteSize(TRITONSERVER_DataType type) {
  static const uint32_t sizes[] = {0, 1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 0, 2};
  return sizes[type];
}
EXPORT bool TRITONSERVER_LogIsEnabled(TRITONSERVER_LogLevel level) { return level != TRITONSERVER_LOG_VERBOSE; }
EXPORT Error* TRITONSERVER_LogMessage(TRITONSERVER_LogLevel level, const char* file, int line, const char* message) {
  fprintf(stderr, "%d %s:%d %s\n", (int)level, file, line, message);
  return NULL;
}
EXPORT Error* TRITONSERVER_BufferAttributesNew(struct TRITONSERVER_BufferAttributes** attributes) {
  *attributes = calloc(1, sizeof **attributes);
  return NULL;
}
EXPORT Error* TRITONSERVER_BufferAttributesDelete(struct TRITONSERVER_BufferAttributes* attributes) {
  free(attributes);
  return NULL;
}
EXPORT Error* TRITONSERVER_BufferAttributesSetByteSize(struct TRITONSERVER_BufferAttributes* attributes, size_t size) {
  attributes->byte_size = size;
  return NULL;
}
EXPORT Error* TRITONSERVER_BufferAttributesSetMemoryType(struct TRITONSERVER_BufferAttributes* attributes, TRITONSERVER_MemoryType type) {
  (void)attributes, (void)type;
  return NULL;
}
EXPORT Error* TRITONSERVER_BufferAttributesSetMemoryTypeId(struct TRITONSERVER_BufferAttributes* attributes, int64_t id) {
  (void)attributes, (void)id;
  return NULL;
}

/* ---- Backend, model, instance ---- */
EXPORT Error* TRITONBACKEND_ApiVersion(uint32_t* major, uint32_t* minor) {
  *major = TRITONBACKEND_API_VERSION_MAJOR;
  *minor = TRITONBACKEND_API_VERSION_MINOR;
  return NULL;
}
EXPORT Error* TRITONBACKEND_BackendConfig(struct TRITONBACKEND_Backend* backend, struct TRITONSERVER_Message** config) { return *config = &backend->config, NULL; }
EXPORT Error* TRITONBACKEND_BackendState(struct TRITONBACKEND_Backend* backend, void** state) { return *state = backend->state, NULL; }
EXPORT Error* TRITONBACKEND_BackendSetState(struct TRITONBACKEND_Backend* backend, void* state) { return backend->state = state, NULL; }
EXPORT Error* TRITONBACKEND_BackendAttributeSetParallelModelInstanceLoading(TRITONBACKEND_BackendAttribute* attributes, bool enabled) {
  (void)attributes, (void)enabled;
  return NULL;
}
EXPORT Error* TRITONBACKEND_ModelName(struct TRITONBACKEND_Model* model, const char** name) { return (void)model, *name = "bare", NULL; }
EXPORT Error* TRITONBACKEND_ModelVersion(struct TRITONBACKEND_Model* model, uint64_t* version) { return (void)model, *version = 1, NULL; }
EXPORT Error* TRITONBACKEND_ModelRepository(struct TRITONBACKEND_Model* model, TRITONBACKEND_ArtifactType* type, const char** location) {
  *type = TRITONBACKEND_ARTIFACT_FILESYSTEM;
  *location = model->job->model_directory;
  return NULL;
}
EXPORT Error* TRITONBACKEND_ModelConfig(struct TRITONBACKEND_Model* model, const uint32_t version, struct TRITONSERVER_Message** config) {
  return (void)version, TRITONSERVER_MessageNewFromSerializedJson(config, model->config, strlen(model->config));
}
EXPORT Error* TRITONBACKEND_ModelSetConfig(struct TRITONBACKEND_Model* model, const uint32_t version, struct TRITONSERVER_Message* config) {
  (void)version;
  free(model->config);
  model->config = Copy(config->json, strlen(config->json));
  return NULL;
}
EXPORT Error* TRITONBACKEND_ModelAutoCompleteConfig(struct TRITONBACKEND_Model* model, bool* complete) { return (void)model, *complete = true, NULL; }
EXPORT Error* TRITONBACKEND_ModelBackend(struct TRITONBACKEND_Model* model, struct TRITONBACKEND_Backend** backend) { return *backend = model->backend, NULL; }
EXPORT Error* TRITONBACKEND_ModelState(struct TRITONBACKEND_Model* model, void** state) { return *state = model->state, NULL; }
EXPORT Error* TRITONBACKEND_ModelSetState(struct TRITONBACKEND_Model* model, void* state) { return model->state = state, NULL; }
EXPORT Error* TRITONBACKEND_ModelReportMemoryUsage(struct TRITONBACKEND_Model* model, struct TRITONSERVER_BufferAttributes** usage, uint32_t count) {
  return (void)model, (void)usage, (void)count, NULL;
}
EXPORT Error* TRITONBACKEND_ModelInstanceName(struct TRITONBACKEND_ModelInstance* instance, const char** name) { return (void)instance, *name = "bare_0", NULL; }
EXPORT Error* TRITONBACKEND_ModelInstanceKind(struct TRITONBACKEND_ModelInstance* instance, TRITONSERVER_InstanceGroupKind* kind) {
  return (void)instance, *kind = TRITONSERVER_INSTANCEGROUPKIND_CPU, NULL;
}
EXPORT Error* TRITONBACKEND_ModelInstanceDeviceId(struct TRITONBACKEND_ModelInstance* instance, int32_t* id) { return (void)instance, *id = 0, NULL; }
EXPORT Error* TRITONBACKEND_ModelInstanceIsPassive(struct TRITONBACKEND_ModelInstance* instance, bool* passive) { return (void)instance, *passive = false, NULL; }
EXPORT Error* TRITONBACKEND_ModelInstanceHostPolicy(struct TRITONBACKEND_ModelInstance* instance, struct TRITONSERVER_Message** policy) {
  return (void)instance, *policy = NULL, NULL;
}
EXPORT Error* TRITONBACKEND_ModelInstanceModel(struct TRITONBACKEND_ModelInstance* instance, struct TRITONBACKEND_Model** model) { return *model = instance->model, NULL; }
EXPORT Error* TRITONBACKEND_ModelInstanceState(struct TRITONBACKEND_ModelInstance* instance, void** state) { return *state = instance->state, NULL; }
EXPORT Error* TRITONBACKEND_ModelInstanceSetState(struct TRITONBACKEND_ModelInstance* instance, void* state) { return instance->state = state, NULL; }
EXPORT Error* TRITONBACKEND_ModelInstanceReportMemoryUsage(struct TRITONBACKEND_ModelInstance* instance, struct TRITONSERVER_BufferAttributes** usage, uint32_t count) {
  return (void)instance, (void)usage, (void)count, NULL;
}
EXPORT Error* TRITONBACKEND_ModelInstanceReportStatistics(struct TRITONBACKEND_ModelInstance* instance, struct TRITONBACKEND_Request* request, const bool success,
                                                          const uint64_t a, const uint64_t b, const uint64_t c, const uint64_t d) {
  (void)instance, (void)success;
  if (request->is_released) fprintf(stderr, "statistics of a request that was released\n"), abort();
  if (a > b || b > c || c > d) fprintf(stderr, "times out of order\n"), abort();
  return NULL;
}
EXPORT Error* TRITONBACKEND_ModelInstanceReportBatchStatistics(struct TRITONBACKEND_ModelInstance* instance, const uint64_t size, const uint64_t a, const uint64_t b,
                                                               const uint64_t c, const uint64_t d) {
  return (void)instance, (void)size, (void)a, (void)b, (void)c, (void)d, NULL;
}

/* ---- The request, its one input, its one output ---- */
EXPORT Error* TRITONBACKEND_RequestInputCount(struct TRITONBACKEND_Request* request, uint32_t* count) { return (void)request, *count = 1, NULL; }
EXPORT Error* TRITONBACKEND_RequestInputByIndex(struct TRITONBACKEND_Request* request, const uint32_t index, TRITONBACKEND_Input** input) {
  return (void)index, *input = (TRITONBACKEND_Input*)request, NULL;
}
static uint64_t InputSize(const BareJob* job) {
  uint64_t size = sizeof(float);
  for (uint32_t axis = 0; axis < job->input_rank; ++axis) size *= (uint64_t)job->input_shape[axis];
  return size;
}
EXPORT Error* TRITONBACKEND_InputProperties(TRITONBACKEND_Input* input, const char** name, TRITONSERVER_DataType* type, const int64_t** shape, uint32_t* rank,
                                            uint64_t* byte_size, uint32_t* buffers) {
  const BareJob* const job = ((struct TRITONBACKEND_Request*)input)->job;
  if (name != NULL) *name = job->input_name;
  if (type != NULL) *type = TRITONSERVER_TYPE_FP32;
  if (shape != NULL) *shape = job->input_shape;
  if (rank != NULL) *rank = job->input_rank;
  if (byte_size != NULL) *byte_size = InputSize(job);
  if (buffers != NULL) *buffers = 1;
  return NULL;
}
EXPORT Error* TRITONBACKEND_InputBuffer(TRITONBACKEND_Input* input, const uint32_t index, const void** buffer, uint64_t* size, TRITONSERVER_MemoryType* type, int64_t* id) {
  const BareJob* const job = ((struct TRITONBACKEND_Request*)input)->job;
  (void)index;
  *buffer = job->input;
  *size = InputSize(job);
  *type = TRITONSERVER_MEMORY_CPU;
  *id = 0;
  return NULL;
}
EXPORT Error* TRITONBACKEND_RequestOutputCount(struct TRITONBACKEND_Request* request, uint32_t* count) { return (void)request, *count = 1, NULL; }
EXPORT Error* TRITONBACKEND_RequestOutputName(struct TRITONBACKEND_Request* request, const uint32_t index, const char** name) {
  return (void)index, *name = request->job->output_name, NULL;
}
EXPORT Error* TRITONBACKEND_RequestIsCancelled(struct TRITONBACKEND_Request* request, bool* cancelled) { return (void)request, *cancelled = false, NULL; }
EXPORT Error* TRITONBACKEND_RequestRelease(struct TRITONBACKEND_Request* request, uint32_t flags) {
  (void)flags;
  if (request->is_released) fprintf(stderr, "released twice\n"), abort();
  request->is_released = true;
  return NULL;
}
EXPORT Error* TRITONBACKEND_ResponseNew(TRITONBACKEND_Response** response, struct TRITONBACKEND_Request* request) {
  return *response = (TRITONBACKEND_Response*)request, NULL;
}
EXPORT Error* TRITONBACKEND_ResponseDelete(TRITONBACKEND_Response* response) { return (void)response, NULL; }
EXPORT Error* TRITONBACKEND_ResponseOutput(TRITONBACKEND_Response* response, TRITONBACKEND_Output** output, const char* name, const TRITONSERVER_DataType type,
                                           const int64_t* shape, const uint32_t rank) {
  (void)type, (void)shape, (void)rank;
  if (strcmp(name, ((struct TRITONBACKEND_Request*)response)->job->output_name) != 0) return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INVALID_ARG, "no such output");
  return *output = (TRITONBACKEND_Output*)response, NULL;
}
EXPORT Error* TRITONBACKEND_OutputBuffer(TRITONBACKEND_Output* output, void** buffer, const uint64_t size, TRITONSERVER_MemoryType* type, int64_t* id) {
  struct TRITONBACKEND_Request* const request = (struct TRITONBACKEND_Request*)output;
  request->output = malloc(size);
  request->output_size = size;
  *buffer = request->output;
  *type = TRITONSERVER_MEMORY_CPU;
  *id = 0;
  return NULL;
}
EXPORT Error* TRITONBACKEND_ResponseSend(TRITONBACKEND_Response* response, const uint32_t flags, Error* error) {
  struct TRITONBACKEND_Request* const request = (struct TRITONBACKEND_Request*)response;
  if (request->is_answered || flags != TRITONSERVER_RESPONSE_COMPLETE_FINAL) fprintf(stderr, "not the one final answer\n"), abort();
  request->is_answered = true;
  if (error != NULL) request->failure = Copy(error->message, strlen(error->message));
  return NULL;
}
/* The model has no states. */
static Error* NoStates(void) { return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_UNSUPPORTED, "no states"); }
EXPORT Error* TRITONBACKEND_StateNew(TRITONBACKEND_State** state, struct TRITONBACKEND_Request* request, const char* name, const TRITONSERVER_DataType type,
                                     const int64_t* shape, const uint32_t rank) {
  return (void)state, (void)request, (void)name, (void)type, (void)shape, (void)rank, NoStates();
}
EXPORT Error* TRITONBACKEND_StateBuffer(TRITONBACKEND_State* state, void** buffer, const uint64_t size, TRITONSERVER_MemoryType* type, int64_t* id) {
  return (void)state, (void)buffer, (void)size, (void)type, (void)id, NoStates();
}
EXPORT Error* TRITONBACKEND_StateUpdate(TRITONBACKEND_State* state) { return (void)state, NoStates(); }

/* ---- The server ---- */
static int Failed(const char* where, Error* error) {
  if (error == NULL) return 0;
  fprintf(stderr, "%s: %s\n", where, error->message);
  TRITONSERVER_ErrorDelete(error);
  return 1;
}

/* Calls an entry point that a backend may leave out. */
static int Call(void* library, const char* name, void* argument) {
  Error* (*entry)(void*);
  *(void**)&entry = dlsym(library, name);
  return entry == NULL ? 0 : Failed(name, entry(argument));
}

static int Infer(void* library, struct TRITONBACKEND_ModelInstance* instance, const BareJob* job, float** output, size_t* count) {
  Error* (*execute)(struct TRITONBACKEND_ModelInstance*, struct TRITONBACKEND_Request**, uint32_t);
  *(void**)&execute = dlsym(library, "TRITONBACKEND_ModelInstanceExecute");
  struct TRITONBACKEND_Request request = {.job = job};
  struct TRITONBACKEND_Request* requests[] = {&request};
  if (Failed("execute", execute(instance, requests, 1))) return 1;
  if (request.failure != NULL) fprintf(stderr, "the request failed: %s\n", request.failure);
  if (request.failure != NULL || !request.is_answered || !request.is_released) return 1;
  *output = request.output;
  *count = request.output_size / sizeof(float);
  return 0;
}

EXPORT int bare_serve(const BareJob* job, float** output, size_t* count) {
  void* const library = dlopen(job->library, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return fprintf(stderr, "%s\n", dlerror()), 1;
  struct TRITONBACKEND_Backend backend = {.config = {Copy(job->backend_config, strlen(job->backend_config))}};
  struct TRITONBACKEND_Model model = {.backend = &backend, .job = job, .config = Copy(job->model_config, strlen(job->model_config))};
  struct TRITONBACKEND_ModelInstance instance = {.model = &model};
  int failed = Call(library, "TRITONBACKEND_Initialize", &backend);
  if (!failed) {
    failed = Call(library, "TRITONBACKEND_ModelInitialize", &model);
    if (!failed) {
      failed = Call(library, "TRITONBACKEND_ModelInstanceInitialize", &instance);
      if (!failed) {
        failed = Call(library, "TRITONBACKEND_ModelInstanceReady", &instance) || Infer(library, &instance, job, output, count);
        failed = Call(library, "TRITONBACKEND_ModelInstanceFinalize", &instance) || failed;
      }
      failed = Call(library, "TRITONBACKEND_ModelFinalize", &model) || failed;
    }
    failed = Call(library, "TRITONBACKEND_Finalize", &backend) || failed;
  }
  free(model.config);
  free(backend.config.json);
  dlclose(library);
  return failed;
}
