// Answers a request with COUNT[0] responses, the n-th of which has n in the output N, and then with the final flag alone: from a thread of its own, after the
// request was released. Stops when it is cancelled.
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>

#include "fixture.h"

using namespace fixture;

namespace {

struct InstanceState {
  std::mutex mutex;
  std::vector<std::thread> threads;
};

std::uint64_t Now() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count());
}

void ReportResponse(TRITONBACKEND_ModelInstance* instance, TRITONBACKEND_ResponseFactory* factory, std::uint64_t started, TRITONSERVER_Error* error) {
  TRITONBACKEND_ModelInstanceResponseStatistics* statistics = nullptr;
  Must(TRITONBACKEND_ModelInstanceResponseStatisticsNew(&statistics));
  Must(TRITONBACKEND_ModelInstanceResponseStatisticsSetModelInstance(statistics, instance));
  Must(TRITONBACKEND_ModelInstanceResponseStatisticsSetResponseFactory(statistics, factory));
  Must(TRITONBACKEND_ModelInstanceResponseStatisticsSetResponseStart(statistics, started));
  Must(TRITONBACKEND_ModelInstanceResponseStatisticsSetComputeOutputStart(statistics, started + 1));
  Must(TRITONBACKEND_ModelInstanceResponseStatisticsSetResponseEnd(statistics, Now()));
  Must(TRITONBACKEND_ModelInstanceResponseStatisticsSetError(statistics, error));
  Must(TRITONBACKEND_ModelInstanceReportResponseStatistics(statistics));
  Must(TRITONBACKEND_ModelInstanceResponseStatisticsDelete(statistics));
}

void Answer(TRITONBACKEND_ModelInstance* instance, TRITONBACKEND_ResponseFactory* factory, std::int32_t count) {
  TRITONSERVER_Error* const failure = EntryPoint([&] {
    bool is_cancelled = false;
    for (std::int32_t number = 0; number < count || count < 0; ++number) {
      Must(TRITONBACKEND_ResponseFactoryIsCancelled(factory, &is_cancelled));
      if (is_cancelled) break;
      const std::uint64_t started = Now();
      TRITONBACKEND_Response* response = nullptr;
      Must(TRITONBACKEND_ResponseNewFromFactory(&response, factory));
      AddNumbers(response, "N", {number});
      Must(TRITONBACKEND_ResponseSend(response, 0, nullptr));
      ReportResponse(instance, factory, started, nullptr);
      // Without end, but for the cancellation.
      if (count < 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (is_cancelled) {
      TRITONSERVER_Error* const error = TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_CANCELLED, "cancelled");
      TRITONBACKEND_Response* response = nullptr;
      Must(TRITONBACKEND_ResponseNewFromFactory(&response, factory));
      Must(TRITONBACKEND_ResponseSend(response, TRITONSERVER_RESPONSE_COMPLETE_FINAL, error));
      ReportResponse(instance, factory, Now(), error);
      TRITONSERVER_ErrorDelete(error);
    } else {
      Must(TRITONBACKEND_ResponseFactorySendFlags(factory, TRITONSERVER_RESPONSE_COMPLETE_FINAL));
    }
    Must(TRITONBACKEND_ResponseFactoryDelete(factory));
  });
  if (failure != nullptr) {
    TRITONSERVER_LogMessage(TRITONSERVER_LOG_ERROR, __FILE__, __LINE__, TRITONSERVER_ErrorMessage(failure));
    TRITONSERVER_ErrorDelete(failure);
  }
}

}  // namespace

extern "C" {

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceInitialize(TRITONBACKEND_ModelInstance* instance) {
  return TRITONBACKEND_ModelInstanceSetState(instance, new InstanceState);
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceFinalize(TRITONBACKEND_ModelInstance* instance) {
  return EntryPoint([&] {
    void* state = nullptr;
    Must(TRITONBACKEND_ModelInstanceState(instance, &state));
    const std::unique_ptr<InstanceState> mine(static_cast<InstanceState*>(state));
    for (std::thread& thread : mine->threads) thread.join();
  });
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceExecute(TRITONBACKEND_ModelInstance* instance, TRITONBACKEND_Request** requests, const std::uint32_t count) {
  return EntryPoint([&] {
    void* state = nullptr;
    Must(TRITONBACKEND_ModelInstanceState(instance, &state));
    auto* const mine = static_cast<InstanceState*>(state);
    for (std::uint32_t index = 0; index < count; ++index) {
      const std::int32_t wanted = Numbers(requests[index], "COUNT").at(0);
      TRITONBACKEND_ResponseFactory* factory = nullptr;
      Must(TRITONBACKEND_ResponseFactoryNew(&factory, requests[index]));
      Must(TRITONBACKEND_RequestRelease(requests[index], TRITONSERVER_REQUEST_RELEASE_ALL));
      const std::lock_guard lock(mine->mutex);
      mine->threads.emplace_back(Answer, instance, factory, wanted);
    }
  });
}

}  // extern "C"
