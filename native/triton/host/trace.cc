#include "trace.h"

#include <atomic>
#include <chrono>

namespace npu_console::triton {
namespace {

void ReportNow(TRITONSERVER_InferenceTrace* trace, TRITONSERVER_InferenceTraceActivity activity) {
  if (trace->activity_fn == nullptr || (trace->level & TRITONSERVER_TRACE_LEVEL_TIMESTAMPS) == 0) return;
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  trace->activity_fn(trace, activity, static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()), trace->userp);
}

}  // namespace

std::uint64_t NextTraceId() {
  static std::atomic<std::uint64_t> next{std::uint64_t{1} << 40};
  return next.fetch_add(1, std::memory_order_relaxed);
}

void BeginTrace(TRITONSERVER_InferenceTrace* trace, const std::string& model_name, std::int64_t model_version, const std::string& request_id) {
  trace->model_name = model_name;
  trace->model_version = model_version;
  trace->request_id = request_id;
  ReportNow(trace, TRITONSERVER_TRACE_REQUEST_START);
}

void EndTrace(TRITONSERVER_InferenceTrace* trace) {
  ReportNow(trace, TRITONSERVER_TRACE_REQUEST_END);
  if (trace->release_fn != nullptr) {
    trace->release_fn(trace, trace->userp);
  } else {
    delete trace;
  }
}

}  // namespace npu_console::triton
