// TRITONSERVER_InferenceTrace*.
#include "trace.h"

using npu_console::triton::NextTraceId;

const char* TRITONSERVER_InferenceTraceLevelString(TRITONSERVER_InferenceTraceLevel level) {
  switch (level) {
    case TRITONSERVER_TRACE_LEVEL_DISABLED:
      return "DISABLED";
    case TRITONSERVER_TRACE_LEVEL_MIN:
      return "MIN";
    case TRITONSERVER_TRACE_LEVEL_MAX:
      return "MAX";
    case TRITONSERVER_TRACE_LEVEL_TIMESTAMPS:
      return "TIMESTAMPS";
    case TRITONSERVER_TRACE_LEVEL_TENSORS:
      return "TENSORS";
  }
  return "<unknown>";
}

const char* TRITONSERVER_InferenceTraceActivityString(TRITONSERVER_InferenceTraceActivity activity) {
  switch (activity) {
    case TRITONSERVER_TRACE_REQUEST_START:
      return "REQUEST_START";
    case TRITONSERVER_TRACE_QUEUE_START:
      return "QUEUE_START";
    case TRITONSERVER_TRACE_COMPUTE_START:
      return "COMPUTE_START";
    case TRITONSERVER_TRACE_COMPUTE_INPUT_END:
      return "COMPUTE_INPUT_END";
    case TRITONSERVER_TRACE_COMPUTE_OUTPUT_START:
      return "COMPUTE_OUTPUT_START";
    case TRITONSERVER_TRACE_COMPUTE_END:
      return "COMPUTE_END";
    case TRITONSERVER_TRACE_REQUEST_END:
      return "REQUEST_END";
    case TRITONSERVER_TRACE_TENSOR_QUEUE_INPUT:
      return "TENSOR_QUEUE_INPUT";
    case TRITONSERVER_TRACE_TENSOR_BACKEND_INPUT:
      return "TENSOR_BACKEND_INPUT";
    case TRITONSERVER_TRACE_TENSOR_BACKEND_OUTPUT:
      return "TENSOR_BACKEND_OUTPUT";
    case TRITONSERVER_TRACE_CUSTOM_ACTIVITY:
      return "CUSTOM_ACTIVITY";
  }
  return "<unknown>";
}

TRITONSERVER_Error* TRITONSERVER_InferenceTraceNew(
    TRITONSERVER_InferenceTrace** trace, TRITONSERVER_InferenceTraceLevel level, uint64_t parent_id, TRITONSERVER_InferenceTraceActivityFn_t activity_fn,
    TRITONSERVER_InferenceTraceReleaseFn_t release_fn, void* userp) {
  return TRITONSERVER_InferenceTraceTensorNew(trace, level, parent_id, activity_fn, nullptr, release_fn, userp);
}

TRITONSERVER_Error* TRITONSERVER_InferenceTraceTensorNew(
    TRITONSERVER_InferenceTrace** trace, TRITONSERVER_InferenceTraceLevel level, uint64_t parent_id, TRITONSERVER_InferenceTraceActivityFn_t activity_fn,
    TRITONSERVER_InferenceTraceTensorActivityFn_t tensor_activity_fn, TRITONSERVER_InferenceTraceReleaseFn_t release_fn, void* userp) {
  TRITONHOST_REQUIRE(trace);
  auto* const created = new TRITONSERVER_InferenceTrace;
  created->id = NextTraceId();
  created->parent_id = parent_id;
  created->level = level;
  created->activity_fn = activity_fn;
  created->tensor_activity_fn = tensor_activity_fn;
  created->release_fn = release_fn;
  created->userp = userp;
  *trace = created;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceTraceDelete(TRITONSERVER_InferenceTrace* trace) {
  delete trace;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceTraceReportActivity(TRITONSERVER_InferenceTrace* trace, uint64_t timestamp_ns, const char* activity_name) {
  TRITONHOST_REQUIRE(trace);
  TRITONHOST_REQUIRE(activity_name);
  if (trace->events != nullptr) {
    npu_console::triton::EventPtr event = npu_console::triton::NewEvent(TRITONHOST_EVENT_TRACE_ACTIVITY);
    event->Token(trace->id).Model(trace->model_token).Text(activity_name).Times(timestamp_ns, 0, 0, 0);
    trace->events->Push(std::move(event));
  }
  if (trace->activity_fn != nullptr) trace->activity_fn(trace, TRITONSERVER_TRACE_CUSTOM_ACTIVITY, timestamp_ns, trace->userp);
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceTraceId(TRITONSERVER_InferenceTrace* trace, uint64_t* id) {
  TRITONHOST_REQUIRE(trace);
  *id = trace->id;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceTraceParentId(TRITONSERVER_InferenceTrace* trace, uint64_t* parent_id) {
  TRITONHOST_REQUIRE(trace);
  *parent_id = trace->parent_id;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceTraceModelName(TRITONSERVER_InferenceTrace* trace, const char** model_name) {
  TRITONHOST_REQUIRE(trace);
  *model_name = trace->model_name.c_str();
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceTraceModelVersion(TRITONSERVER_InferenceTrace* trace, int64_t* model_version) {
  TRITONHOST_REQUIRE(trace);
  *model_version = trace->model_version;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceTraceRequestId(TRITONSERVER_InferenceTrace* trace, const char** request_id) {
  TRITONHOST_REQUIRE(trace);
  *request_id = trace->request_id.c_str();
  return nullptr;
}

// The child reports where its parent does; the caller hands it to TRITONSERVER_ServerInferAsync or deletes it.
TRITONSERVER_Error* TRITONSERVER_InferenceTraceSpawnChildTrace(TRITONSERVER_InferenceTrace* trace, TRITONSERVER_InferenceTrace** child) {
  TRITONHOST_REQUIRE(child);
  if (trace == nullptr) {
    *child = nullptr;
    return nullptr;
  }
  auto* const created = new TRITONSERVER_InferenceTrace(*trace);
  created->id = NextTraceId();
  created->parent_id = trace->id;
  created->model_name.clear();
  created->model_version = -1;
  created->request_id.clear();
  *child = created;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceTraceSetContext(TRITONSERVER_InferenceTrace* trace, const char* context) {
  TRITONHOST_REQUIRE(trace);
  TRITONHOST_REQUIRE(context);
  trace->context = context;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceTraceContext(TRITONSERVER_InferenceTrace* trace, const char** context) {
  TRITONHOST_REQUIRE(trace);
  *context = trace->context.c_str();
  return nullptr;
}
