// Traces: of a request that the embedder traces (what happens becomes events), or made by a backend with functions of its own.
#pragma once

#include <string>

#include "events.h"

struct TRITONSERVER_InferenceTrace {
  std::uint64_t id = 0;
  std::uint64_t parent_id = 0;
  std::string model_name;
  std::int64_t model_version = -1;
  std::string request_id;
  std::string context;
  npu_console::triton::EventQueuePtr events;  // of the embedder's traces and of their children
  std::uint64_t model_token = 0;
  TRITONSERVER_InferenceTraceLevel level = TRITONSERVER_TRACE_LEVEL_TIMESTAMPS;
  TRITONSERVER_InferenceTraceActivityFn_t activity_fn = nullptr;
  TRITONSERVER_InferenceTraceTensorActivityFn_t tensor_activity_fn = nullptr;
  TRITONSERVER_InferenceTraceReleaseFn_t release_fn = nullptr;
  void* userp = nullptr;
};

namespace npu_console::triton {

// Ids that traces get which the embedder did not number: from 2^40 on, so that they never meet those of an embedder that counts from 1.
std::uint64_t NextTraceId();

// It goes with a request that a backend sends: its own function hears of the start, with the steady clock as the API wants it.
void BeginTrace(TRITONSERVER_InferenceTrace* trace, const std::string& model_name, std::int64_t model_version, const std::string& request_id);
// Its request is over: its function hears of that; a trace with a release function goes back to whoever made it, any other ends here.
void EndTrace(TRITONSERVER_InferenceTrace* trace);

}  // namespace npu_console::triton
