// Breaks the rules of the API, as the parameter "do" of the first request of a batch says: what the host must contain.
#include <atomic>
#include <chrono>
#include <thread>

#include "fixture.h"

using namespace fixture;

namespace {

// Requests and responses that a batch left behind for the next one.
struct InstanceState {
  std::vector<TRITONBACKEND_Request*> kept;
  std::vector<TRITONBACKEND_ResponseFactory*> factories;
  std::thread late;
  std::string report;
  std::atomic<bool> has_card{true};
};

InstanceState* StateOf(TRITONBACKEND_ModelInstance* instance) {
  void* state = nullptr;
  Must(TRITONBACKEND_ModelInstanceState(instance, &state));
  return static_cast<InstanceState*>(state);
}

void Send(TRITONBACKEND_Request* request, std::uint32_t flags) {
  TRITONBACKEND_Response* response = nullptr;
  Must(TRITONBACKEND_ResponseNew(&response, request));
  Must(TRITONBACKEND_ResponseSend(response, flags, nullptr));
}

void Release(TRITONBACKEND_Request* request) { Must(TRITONBACKEND_RequestRelease(request, TRITONSERVER_REQUEST_RELEASE_ALL)); }

// The error that an API call gave, as the answer to the request it was made for.
void Answer(TRITONBACKEND_Response* response, TRITONSERVER_Error* error) {
  Must(TRITONBACKEND_ResponseSetStringParameter(response, "error", error == nullptr ? "none" : TRITONSERVER_ErrorMessage(error)));
  TRITONSERVER_ErrorDelete(error);
  Must(TRITONBACKEND_ResponseSend(response, TRITONSERVER_RESPONSE_COMPLETE_FINAL, nullptr));
}

}  // namespace

extern "C" {

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceInitialize(TRITONBACKEND_ModelInstance* instance) {
  const char* name = nullptr;
  Must(TRITONBACKEND_ModelInstanceName(instance, &name));
  if (std::string(name) == "throws") throw std::runtime_error("no instance today");
  return TRITONBACKEND_ModelInstanceSetState(instance, new InstanceState);
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceFinalize(TRITONBACKEND_ModelInstance* instance) {
  return EntryPoint([&] {
    InstanceState* const state = StateOf(instance);
    if (state == nullptr) return;
    if (state->late.joinable()) state->late.join();
    delete state;
  });
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceReady(TRITONBACKEND_ModelInstance* instance) {
  if (StateOf(instance)->has_card) return nullptr;
  return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_UNAVAILABLE, "the card is lost");
}

__attribute__((visibility("default"))) const char* NPUCONSOLE_ModelInstanceReport(TRITONBACKEND_ModelInstance* instance) {
  InstanceState* const state = StateOf(instance);
  state->report = R"({"runs_on":"npu","simulated":true,"device":1,"streams":2})";
  return state->report.c_str();
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceExecute(TRITONBACKEND_ModelInstance* instance, TRITONBACKEND_Request** requests, const std::uint32_t count) {
  InstanceState* const state = StateOf(instance);
  const std::string what = Parameter(requests[0], "do");
  if (what == "lose_card") {
    state->has_card = false;
    return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_UNAVAILABLE, "the card went away during the batch");
  }
  if (what == "throw") throw std::runtime_error("out of everything");
  if (what == "throw_number") throw 5;
  if (what == "throw_after_one") {
    Send(requests[0], TRITONSERVER_RESPONSE_COMPLETE_FINAL);
    Release(requests[0]);
    throw std::runtime_error("after one");
  }
  if (what == "error_after_release") {
    Send(requests[0], TRITONSERVER_RESPONSE_COMPLETE_FINAL);
    Release(requests[0]);
    return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INTERNAL, "too late to fail");
  }
  for (std::uint32_t index = 0; index < count; ++index) {
    TRITONBACKEND_Request* const request = requests[index];
    if (what == "no_answer") {
      Release(request);
    } else if (what == "not_final") {
      Send(request, 0);
      Release(request);
    } else if (what == "leak_response") {
      TRITONBACKEND_Response* leaked = nullptr;
      Must(TRITONBACKEND_ResponseNew(&leaked, request));
      Release(request);
    } else if (what == "leak_answered") {
      TRITONBACKEND_Response* leaked = nullptr;
      Must(TRITONBACKEND_ResponseNew(&leaked, request));
      Send(request, TRITONSERVER_RESPONSE_COMPLETE_FINAL);
      Release(request);
    } else if (what == "keep") {
      state->kept.push_back(request);
    } else if (what == "keep_until_cancelled") {
      state->late = std::thread([request] {
        bool is_cancelled = false;
        while (!is_cancelled) {
          std::this_thread::sleep_for(std::chrono::milliseconds(5));
          Must(TRITONBACKEND_RequestIsCancelled(request, &is_cancelled));
        }
        Send(request, TRITONSERVER_RESPONSE_COMPLETE_FINAL);
        Release(request);
      });
    } else if (what == "linger") {
      // Long enough for whoever waits to be asleep.
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      Send(request, TRITONSERVER_RESPONSE_COMPLETE_FINAL);
      bool is_cancelled = false;
      while (!is_cancelled) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        Must(TRITONBACKEND_RequestIsCancelled(request, &is_cancelled));
      }
      Release(request);
    } else if (what == "give_back") {
      for (TRITONBACKEND_Request* kept : state->kept) {
        Send(kept, TRITONSERVER_RESPONSE_COMPLETE_FINAL);
        Release(kept);
      }
      state->kept.clear();
      Send(request, TRITONSERVER_RESPONSE_COMPLETE_FINAL);
      Release(request);
    } else if (what == "release_twice") {
      TRITONBACKEND_Response* response = nullptr;
      Must(TRITONBACKEND_ResponseNew(&response, request));
      Release(request);
      Answer(response, TRITONBACKEND_RequestRelease(request, TRITONSERVER_REQUEST_RELEASE_ALL));
    } else if (what == "response_after_release") {
      TRITONBACKEND_Response* response = nullptr;
      Must(TRITONBACKEND_ResponseNew(&response, request));
      Release(request);
      TRITONBACKEND_Response* late = nullptr;
      Answer(response, TRITONBACKEND_ResponseNew(&late, request));
    } else if (what == "read_after_release") {
      TRITONBACKEND_Response* response = nullptr;
      Must(TRITONBACKEND_ResponseNew(&response, request));
      Release(request);
      const char* id = nullptr;
      Answer(response, TRITONBACKEND_RequestId(request, &id));
    } else if (what == "final_twice") {
      TRITONBACKEND_Response* second = nullptr;
      Must(TRITONBACKEND_ResponseNew(&second, request));
      Send(request, TRITONSERVER_RESPONSE_COMPLETE_FINAL);
      TRITONSERVER_ErrorDelete(TRITONBACKEND_ResponseSend(second, TRITONSERVER_RESPONSE_COMPLETE_FINAL, nullptr));
      Release(request);
    } else if (what == "late") {
      // Allowed: the response was made before the release.
      TRITONBACKEND_Response* response = nullptr;
      Must(TRITONBACKEND_ResponseNew(&response, request));
      Release(request);
      if (state->late.joinable()) state->late.join();
      state->late = std::thread([response] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        Answer(response, nullptr);
      });
    } else if (what == "reschedule") {
      TRITONBACKEND_Response* response = nullptr;
      Must(TRITONBACKEND_ResponseNew(&response, request));
      TRITONSERVER_Error* const error = TRITONBACKEND_RequestRelease(request, TRITONSERVER_REQUEST_RELEASE_RESCHEDULE);
      if (error == nullptr) {
        Must(TRITONBACKEND_ResponseDelete(response));
      } else {
        Answer(response, error);
        Release(request);
      }
    } else if (what == "state") {
      const std::int64_t shape[] = {1};
      TRITONBACKEND_State* made = nullptr;
      TRITONSERVER_Error* const error = TRITONBACKEND_StateNew(&made, request, "S", TRITONSERVER_TYPE_INT32, shape, 1);
      TRITONBACKEND_Response* response = nullptr;
      Must(TRITONBACKEND_ResponseNew(&response, request));
      Answer(response, error);
      Release(request);
    }
  }
  return nullptr;
}

}  // extern "C"
