/* The server's side of libtritonserver.so: what an embedder (the Node addon, or a test) calls to load backends, hand over batches and get answers back.
 * Plain C, so that it can be called from any language; everything here is safe to call from any thread.
 *
 * How it works. Calls return at once: what was asked is done by threads of the host (one per model for its life cycle, one per model instance, one per model
 * for the answers to requests that its backend sends), and what comes of it is an event. Events wait in one queue, in the order in which they happened. When
 * the queue stops being empty `notify` is called, once, on whatever thread that was; then call tritonhost_drain until it returns 0. A release or
 * statistics that come from within Execute wait for BATCH_EXECUTED or whatever else comes first: nothing can be done about them before. Code of a backend never
 * runs on the thread that drains, so a backend may wait for the embedder (TRITONHOST_EVENT_QUESTION) without a deadlock; batching libraries are the
 * exception, below.
 *
 * Tokens are numbers the embedder chooses for models, instances, batches and requests; they come back in the events. One is free for re-use after the event
 * that ends it. Errors are returned as in tritonserver.h: NULL is success, anything else is deleted by the caller. Arguments are copied, except the data of
 * tensors, which is borrowed as each function says. */
#pragma once

#include "triton/core/tritonserver.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TRITONHOST_EXPORT __attribute__((visibility("default")))

typedef struct TritonHost TritonHost;

typedef struct TritonHostBuffer {
  const void* data;
  uint64_t byte_size;
} TritonHostBuffer;

/* Raw little-endian bytes as on Triton's wire; an input may lie in several pieces, what comes out of the host is always one. */
typedef struct TritonHostTensor {
  const char* name;
  TRITONSERVER_DataType datatype;
  const int64_t* shape; /* with the batch dimension, where the model has one */
  uint32_t dims_count;
  const TritonHostBuffer* buffers;
  uint32_t buffer_count;
} TritonHostTensor;

typedef struct TritonHostParameter {
  const char* name;
  TRITONSERVER_ParameterType type;
  const char* bytes; /* STRING and BYTES */
  uint64_t byte_size;
  int64_t integer;
  bool boolean;
  double real;
} TritonHostParameter;

/* ---- The host ---- */

typedef struct TritonHostOptions {
  const char* const* backend_directories; /* each has a folder per backend; looked into in this order */
  uint32_t backend_directory_count;
  void (*notify)(void* context); /* wakes somebody up and calls nothing of this; NULL: the embedder polls */
  void* notify_context;
  uint32_t log_levels;       /* bit n: TRITONSERVER_LogLevel n is wanted */
  uint32_t unload_report_ms; /* how often a removal that waits says so; 0: every 5 s */
  uint32_t leak_grace_ms;    /* how long a removal waits for responses of released requests; 0: 30 s */
} TritonHostOptions;

TRITONHOST_EXPORT TRITONSERVER_Error* tritonhost_new(const TritonHostOptions* options, TritonHost** host);
/* Unloads what is loaded, waits for that at most so long, then finalizes and closes the backends. From then on nothing comes and nobody is notified; what came can
 * still be drained, and only drain and delete may be called. UNAVAILABLE names the models that did not end: their threads go on until the process exits or this is
 * called again. */
TRITONHOST_EXPORT TRITONSERVER_Error* tritonhost_close(TritonHost* host, uint32_t timeout_ms);
/* Closes the host where it is not, and frees it with all events. With an error it stays in memory. */
TRITONHOST_EXPORT TRITONSERVER_Error* tritonhost_delete(TritonHost* host, uint32_t timeout_ms);
TRITONHOST_EXPORT void tritonhost_set_log_levels(TritonHost* host, uint32_t log_levels);
/* The metrics that backends made, as Prometheus text, for all hosts of the process: the API has no server in it. Free with tritonhost_text_free. */
TRITONHOST_EXPORT char* tritonhost_metrics_text(void);
TRITONHOST_EXPORT void tritonhost_text_free(char* text);

/* ---- Models and their instances ---- */

typedef struct TritonHostModelOptions {
  uint64_t token;
  const char* name;
  uint64_t version;
  const char* directory;       /* of the model; the version's folder is below it */
  const char* backend;         /* "identity" */
  const char* library;         /* file name of the library; NULL: libtriton_<backend>.so. Looked for in the version's folder, the model's, the backend's in each directory. */
  const char* config_json;     /* what TRITONBACKEND_ModelConfig answers */
  const char* backend_config_json; /* what TRITONBACKEND_BackendConfig answers, {"cmdline":{...}}; the first model of a library decides */
  bool auto_complete_config;
  bool may_reschedule;         /* requests may be released with RESCHEDULE (iterative sequences) */
  const char* const* outputs;  /* of the config: what a request without requested outputs asks for */
  uint32_t output_count;
  const char* const* states;   /* names of the output states in the config */
  uint32_t state_count;
} TritonHostModelOptions;

/* -> TRITONHOST_EVENT_MODEL_INITIALIZED. With an error in it the model is gone. */
TRITONHOST_EXPORT TRITONSERVER_Error* tritonhost_load_model(TritonHost* host, const TritonHostModelOptions* options);
/* Removes its instances, then finalizes it. -> TRITONHOST_EVENT_MODEL_UNLOADED, however long the backend takes. */
TRITONHOST_EXPORT TRITONSERVER_Error* tritonhost_unload_model(TritonHost* host, uint64_t model);

typedef struct TritonHostInstanceOptions {
  uint64_t token;
  uint64_t model;
  const char* name;
  TRITONSERVER_InstanceGroupKind kind;
  int32_t device_id;
  bool is_passive;
  const char* host_policy; /* its name, for messages; NULL: '' */
  const char* host_policy_json; /* {"<policy>":{...}} */
  const char* const* profiles;
  uint32_t profile_count;
  const char* const* secondary_kinds; /* of secondary devices ("KIND_NVDLA"); a number of the same index each */
  const int64_t* secondary_ids;
  uint32_t secondary_count;
  const uint32_t* processors; /* each below 2^17; the thread of the instance runs on these only, or the instance fails; none: anywhere */
  uint32_t processor_count;
} TritonHostInstanceOptions;

/* -> TRITONHOST_EVENT_INSTANCE_INITIALIZED. With an error in it the instance is gone. */
TRITONHOST_EXPORT TRITONSERVER_Error* tritonhost_add_instance(TritonHost* host, const TritonHostInstanceOptions* options);
/* Runs what was submitted, waits for what the backend still holds, finalizes. -> TRITONHOST_EVENT_INSTANCE_REMOVED. */
TRITONHOST_EXPORT TRITONSERVER_Error* tritonhost_remove_instance(TritonHost* host, uint64_t instance);
/* Asks the backend. -> TRITONHOST_EVENT_INSTANCE_READINESS. */
TRITONHOST_EXPORT TRITONSERVER_Error* tritonhost_check_instance(TritonHost* host, uint64_t instance);

/* For a model that the embedder's scheduler batches; once. `library` is the path that its config gives; NULL: batchstrategy.so in the version's folder, the model's or
 * the backend's, or the backend itself where it defines the functions of custom batching. -> TRITONHOST_EVENT_BATCHER_OPENED */
TRITONHOST_EXPORT TRITONSERVER_Error* tritonhost_open_batcher(TritonHost* host, uint64_t model, const char* library);

/* ---- Requests to a model ---- */

typedef struct TritonHostRequest {
  uint64_t token;
  const char* id; /* NULL: none */
  uint64_t correlation_id;
  const char* correlation_string; /* not NULL: the correlation id is this string */
  uint32_t flags;                 /* TRITONSERVER_RequestFlag */
  uint64_t timeout_us;
  uint64_t trace_id; /* 0: not traced */
  const TritonHostTensor* inputs; /* data borrowed until TRITONHOST_EVENT_REQUEST_RELEASED */
  uint32_t input_count;
  const char* const* outputs; /* those that were asked for; none: all of the model */
  uint32_t output_count;
  const TritonHostParameter* parameters;
  uint32_t parameter_count;
} TritonHostRequest;

/* Hands a whole batch over. Each request is over after both a REQUEST_RELEASED and a RESPONSE with the FINAL flag (in either order); the instance takes its next
 * batch after BATCH_EXECUTED, more may be submitted before. */
TRITONHOST_EXPORT TRITONSERVER_Error* tritonhost_submit(
    TritonHost* host, uint64_t instance, uint64_t batch, const TritonHostRequest* requests, uint32_t request_count);
/* The backend may ask for it; nothing else happens. No error when the request is over already. */
TRITONHOST_EXPORT TRITONSERVER_Error* tritonhost_cancel(TritonHost* host, uint64_t instance, uint64_t request);

/* ---- Batches that the embedder's scheduler is forming, of a model whose batcher was opened ----
 * These alone run code of a library on the calling thread, since a scheduler cannot wait for an event; it cannot ask the embedder anything meanwhile.
 * Tokens of batches are the embedder's, one is free again after the end. Whatever is left is ended when the model is unloaded. */

TRITONHOST_EXPORT TRITONSERVER_Error* tritonhost_begin_batch(TritonHost* host, uint64_t model, uint64_t batch);
/* May the request join those included so far? The data of its inputs is borrowed until the end of the batch. An error: the library's; it did not say yes. */
TRITONHOST_EXPORT TRITONSERVER_Error* tritonhost_include_request(TritonHost* host, uint64_t model, uint64_t batch, const TritonHostRequest* request, bool* included);
TRITONHOST_EXPORT TRITONSERVER_Error* tritonhost_end_batch(TritonHost* host, uint64_t model, uint64_t batch);

/* ---- Requests and questions of a backend ---- */

typedef struct TritonHostReply {
  TRITONSERVER_Error_Code error_code;
  const char* error_message; /* NULL: no error */
  const char* model_name;
  int64_t model_version;
  const TritonHostTensor* outputs; /* copied */
  uint32_t output_count;
  const TritonHostParameter* parameters;
  uint32_t parameter_count;
} TritonHostReply;

/* Answers TRITONHOST_EVENT_INFER; several times where the model is decoupled. flags: TRITONSERVER_ResponseCompleteFlag. A NULL reply sends the flags alone. */
TRITONHOST_EXPORT TRITONSERVER_Error* tritonhost_respond(TritonHost* host, uint64_t infer, const TritonHostReply* reply, uint32_t flags);
/* The inputs of TRITONHOST_EVENT_INFER are not needed any more. Once each, before or after the last answer. */
TRITONHOST_EXPORT TRITONSERVER_Error* tritonhost_release_infer(TritonHost* host, uint64_t infer);

typedef enum TritonHostQuestion {
  TRITONHOST_QUESTION_SERVER_LIVE = 1,       /* value: 0 or 1 */
  TRITONHOST_QUESTION_SERVER_READY = 2,      /* value: 0 or 1 */
  TRITONHOST_QUESTION_MODEL_READY = 3,       /* value: 0 or 1 */
  TRITONHOST_QUESTION_MODEL_BATCH = 4,       /* value: TRITONSERVER_ModelBatchFlag */
  TRITONHOST_QUESTION_MODEL_TRANSACTION = 5, /* value: TRITONSERVER_ModelTxnPropertyFlag */
  TRITONHOST_QUESTION_SERVER_METADATA = 6,   /* text: JSON */
  TRITONHOST_QUESTION_MODEL_METADATA = 7,    /* text: JSON */
  TRITONHOST_QUESTION_MODEL_STATISTICS = 8,  /* text: JSON */
  TRITONHOST_QUESTION_MODEL_CONFIG = 9,      /* text: JSON */
  TRITONHOST_QUESTION_MODEL_INDEX = 10,      /* flags: TRITONSERVER_ModelIndexFlag; text: JSON */
  TRITONHOST_QUESTION_LOAD_MODEL = 11,       /* parameters: config, file:...; answered when it is loaded */
  TRITONHOST_QUESTION_UNLOAD_MODEL = 12,     /* answered when it is unloading */
  TRITONHOST_QUESTION_UNLOAD_MODEL_AND_DEPENDENTS = 13,
  /* The host's own, before ModelInitialize of a model whose backend prefers instance groups. text: the model's config, detail: JSON about the backend. Answered
   * with the config that ModelInitialize is to see. */
  TRITONHOST_QUESTION_INSTANCE_GROUPS = 14
} TritonHostQuestion;

/* Answers TRITONHOST_EVENT_QUESTION, once; a thread of the backend waits for it. error_message NULL: no error. */
TRITONHOST_EXPORT TRITONSERVER_Error* tritonhost_answer(
    TritonHost* host, uint64_t question, TRITONSERVER_Error_Code error_code, const char* error_message, uint32_t value, const char* text);

/* ---- Events ---- */

typedef enum TritonHostEventKind {
  TRITONHOST_EVENT_MODEL_INITIALIZED = 1,    /* token: model. error, or text: the config (a backend may have changed it), detail: JSON about the backend */
  TRITONHOST_EVENT_MODEL_UNLOADED = 2,       /* token: model. error: what ModelFinalize said */
  TRITONHOST_EVENT_INSTANCE_INITIALIZED = 3, /* token: instance. error, or detail: what NPUCONSOLE_ModelInstanceReport says (JSON), where the backend has it */
  TRITONHOST_EVENT_INSTANCE_REMOVED = 4,     /* token: instance. error: what ModelInstanceFinalize said */
  TRITONHOST_EVENT_INSTANCE_READINESS = 5,   /* token: instance. error: why it is not ready; detail as above */
  TRITONHOST_EVENT_BATCH_EXECUTED = 6,       /* token: batch. error: what Execute said; its requests were failed with it */
  TRITONHOST_EVENT_RESPONSE = 7,             /* token: request. flags, error, tensors, parameters; is_empty: only the flags */
  TRITONHOST_EVENT_REQUEST_RELEASED = 8,     /* token: request. flags: TRITONSERVER_RequestReleaseFlag; tensors: updated states; times, success if has_times */
  TRITONHOST_EVENT_BATCH_STATISTICS = 9,     /* token: instance. batch_size, times */
  TRITONHOST_EVENT_RESPONSE_STATISTICS = 10, /* token: request. times: response start, compute output start (0: empty response), response end; error */
  TRITONHOST_EVENT_MEMORY_USAGE = 11,        /* token: model, or instance if instance is set. usages */
  TRITONHOST_EVENT_TRACE_ACTIVITY = 12,      /* token: trace. times[0], text: the activity's name */
  TRITONHOST_EVENT_LOG = 13,                 /* level, text, detail: source file, line; model: of the thread that logs, 0 on a thread of the backend's own */
  TRITONHOST_EVENT_VIOLATION = 14,           /* token: request, or 0. A backend broke a rule of the API, or makes a removal wait: text says what */
  TRITONHOST_EVENT_QUESTION = 15,            /* token: question. question, name: model, version, flags, parameters */
  TRITONHOST_EVENT_INFER = 16,               /* token: infer. name: model, version, text: request id, tensors (borrowed until released), outputs, ... */
  TRITONHOST_EVENT_INFER_CANCELLED = 17,     /* token: infer */
  TRITONHOST_EVENT_BATCHER_OPENED = 18       /* token: model. error, or text: path of the library; NULL: the model has none */
} TritonHostEventKind;

typedef struct TritonHostUsage {
  TRITONSERVER_MemoryType memory_type;
  int64_t memory_type_id;
  uint64_t byte_size;
} TritonHostUsage;

typedef struct TritonHostEvent {
  TritonHostEventKind kind;
  uint64_t token;
  uint64_t model;    /* token of the model that this is about, or 0 */
  uint64_t instance; /* token of the instance that this is about, or 0 */
  bool has_error;
  TRITONSERVER_Error_Code error_code;
  const char* error_message;
  const char* name;
  const char* text;
  const char* detail;
  uint32_t flags;
  bool is_empty;
  const TritonHostTensor* tensors;
  uint32_t tensor_count;
  const TritonHostParameter* parameters;
  uint32_t parameter_count;
  bool has_times;
  bool success;
  uint64_t times[4]; /* steady clock, ns: exec start, compute start, compute end, exec end */
  uint64_t batch_size;
  const TritonHostUsage* usages;
  uint32_t usage_count;
  TRITONSERVER_LogLevel level;
  int32_t line;
  TritonHostQuestion question;
  /* The rest: TRITONHOST_EVENT_INFER and, of it, version: TRITONHOST_EVENT_QUESTION. */
  int64_t version; /* -1: by the version policy */
  const char* const* outputs;
  uint32_t output_count;
  uint64_t correlation_id;
  const char* correlation_string; /* NULL: it is a number */
  uint64_t priority;
  uint64_t timeout_us;
  uint64_t trace_id; /* of an inference request of a backend: a child of a trace of the embedder's; 0: none */
  uint64_t parent_trace_id;
} TritonHostEvent;

/* Takes up to `capacity` events; each is the caller's until tritonhost_event_free. Everything an event points at lives so long. */
TRITONHOST_EXPORT size_t tritonhost_drain(TritonHost* host, TritonHostEvent** events, size_t capacity);
TRITONHOST_EXPORT void tritonhost_event_free(TritonHostEvent* event);

/* What the data of a tensor lies in. */
typedef struct TritonHostMemory TritonHostMemory;
/* Keeps the data of a tensor where it is beyond tritonhost_event_free, and beyond the host, until tritonhost_memory_free: whoever takes it need not copy. NULL where
 * it is not the host's own (TRITONHOST_EVENT_INFER lends it), or is empty. */
TRITONHOST_EXPORT TritonHostMemory* tritonhost_keep_tensor(const TritonHostEvent* event, uint32_t tensor);
TRITONHOST_EXPORT void tritonhost_memory_free(TritonHostMemory* memory);

#ifdef __cplusplus
}
#endif
