#include "trace.h"

#include <atomic>

namespace npu_console::triton {

std::uint64_t NextTraceId() {
  static std::atomic<std::uint64_t> next{std::uint64_t{1} << 40};
  return next.fetch_add(1, std::memory_order_relaxed);
}

void EndTrace(TRITONSERVER_InferenceTrace* trace) {
  if (trace->release_fn != nullptr) {
    trace->release_fn(trace, trace->userp);
  } else {
    delete trace;
  }
}

}  // namespace npu_console::triton
