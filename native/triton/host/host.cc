// The functions of host.h.
#include "host.h"

#include <cstring>

#include "host_state.h"
#include "metrics.h"

using namespace npu_console::triton;  // NOLINT: this file is the seam between C and C++

namespace {

// Runs the body of a call. No exception crosses into the embedder's C.
template <class Body>
TRITONSERVER_Error* Contained(Body body, TRITONSERVER_Error_Code code = TRITONSERVER_ERROR_UNAVAILABLE) {
  try {
    return body();
  } catch (const std::exception& exception) {
    return MakeError(code, std::string("the machine has no memory or thread left for this (") + exception.what() + "): load fewer models, or give the machine more");
  }
}

}  // namespace

struct TritonHostMemory {
  const std::shared_ptr<void> memory;
};

TRITONSERVER_Error* tritonhost_new(const TritonHostOptions* options, TritonHost** host) {
  TRITONHOST_REQUIRE(options);
  TRITONHOST_REQUIRE(host);
  return Contained([&]() -> TRITONSERVER_Error* {
    *host = new TritonHost(*options);
    RegisterEventQueue((*host)->events);
    return nullptr;
  });
}

TRITONSERVER_Error* tritonhost_close(TritonHost* host, uint32_t timeout_ms) {
  TRITONHOST_REQUIRE(host);
  return host->Close(timeout_ms);
}

TRITONSERVER_Error* tritonhost_delete(TritonHost* host, uint32_t timeout_ms) {
  if (TRITONSERVER_Error* error = tritonhost_close(host, timeout_ms)) return error;
  delete host;
  return nullptr;
}

void tritonhost_set_log_levels(TritonHost* host, uint32_t log_levels) { host->events->SetLogLevels(log_levels); }

char* tritonhost_metrics_text() { return strdup(MetricRegistry::Instance().PrometheusText().c_str()); }

void tritonhost_text_free(char* text) { std::free(text); }

TRITONSERVER_Error* tritonhost_load_model(TritonHost* host, const TritonHostModelOptions* options) {
  TRITONHOST_REQUIRE(host);
  TRITONHOST_REQUIRE(options);
  TRITONHOST_REQUIRE(options->name);
  TRITONHOST_REQUIRE(options->directory);
  TRITONHOST_REQUIRE(options->backend);
  TRITONHOST_REQUIRE(options->config_json);
  return Contained([&] { return host->LoadModel(*options); });
}

TRITONSERVER_Error* tritonhost_unload_model(TritonHost* host, uint64_t model) {
  TRITONHOST_REQUIRE(host);
  return host->UnloadModel(model);
}

TRITONSERVER_Error* tritonhost_add_instance(TritonHost* host, const TritonHostInstanceOptions* options) {
  TRITONHOST_REQUIRE(host);
  TRITONHOST_REQUIRE(options);
  TRITONHOST_REQUIRE(options->name);
  return Contained([&] { return host->AddInstance(*options); });
}

TRITONSERVER_Error* tritonhost_remove_instance(TritonHost* host, uint64_t instance) {
  TRITONHOST_REQUIRE(host);
  return host->RemoveInstance(instance);
}

TRITONSERVER_Error* tritonhost_check_instance(TritonHost* host, uint64_t instance) {
  TRITONHOST_REQUIRE(host);
  return host->CheckInstance(instance);
}

TRITONSERVER_Error* tritonhost_submit(TritonHost* host, uint64_t instance, uint64_t batch, const TritonHostRequest* requests, uint32_t request_count) {
  TRITONHOST_REQUIRE(host);
  TRITONHOST_REQUIRE(requests);
  if (request_count == 0) return InvalidArgument("a batch has at least one request");
  const std::lock_guard lock(host->mutex);
  if (TRITONSERVER_Error* error = host->RequireOpen()) return error;
  InstanceEntry* entry = nullptr;
  if (TRITONSERVER_Error* error = host->FindInstance(instance, &entry)) return error;
  return Contained([&] { return entry->instance->Submit(batch, requests, request_count); });
}

TRITONSERVER_Error* tritonhost_cancel(TritonHost* host, uint64_t instance, uint64_t request) {
  TRITONHOST_REQUIRE(host);
  return host->CancelRequest(instance, request);
}

TRITONSERVER_Error* tritonhost_open_batcher(TritonHost* host, uint64_t model, const char* library) {
  TRITONHOST_REQUIRE(host);
  const std::lock_guard lock(host->mutex);
  if (TRITONSERVER_Error* error = host->RequireOpen()) return error;
  ModelEntry* entry = nullptr;
  if (TRITONSERVER_Error* error = host->FindModel(model, &entry)) return error;
  entry->model->OpenBatcher(TextOr(library, ""));
  return nullptr;
}

TRITONSERVER_Error* tritonhost_begin_batch(TritonHost* host, uint64_t model, uint64_t batch) {
  TRITONHOST_REQUIRE(host);
  std::shared_ptr<Batcher> batcher;
  if (TRITONSERVER_Error* error = host->FindBatcher(model, &batcher)) return error;
  return batcher->Begin(batch).release();
}

TRITONSERVER_Error* tritonhost_include_request(TritonHost* host, uint64_t model, uint64_t batch, const TritonHostRequest* request, bool* included) {
  TRITONHOST_REQUIRE(host);
  TRITONHOST_REQUIRE(request);
  TRITONHOST_REQUIRE(included);
  std::shared_ptr<Batcher> batcher;
  if (TRITONSERVER_Error* error = host->FindBatcher(model, &batcher)) return error;
  return batcher->Include(batch, *request, included).release();
}

TRITONSERVER_Error* tritonhost_end_batch(TritonHost* host, uint64_t model, uint64_t batch) {
  TRITONHOST_REQUIRE(host);
  std::shared_ptr<Batcher> batcher;
  if (TRITONSERVER_Error* error = host->FindBatcher(model, &batcher)) return error;
  return batcher->End(batch).release();
}

TRITONSERVER_Error* tritonhost_respond(TritonHost* host, uint64_t infer, const TritonHostReply* reply, uint32_t flags) {
  TRITONHOST_REQUIRE(host);
  // UNAVAILABLE is what a backend hears of a server that stops.
  return Contained([&] { return host->bridge.Respond(infer, reply, flags); }, TRITONSERVER_ERROR_INTERNAL);
}

TRITONSERVER_Error* tritonhost_release_infer(TritonHost* host, uint64_t infer) {
  TRITONHOST_REQUIRE(host);
  return host->bridge.ReleaseInfer(infer);
}

TRITONSERVER_Error* tritonhost_answer(
    TritonHost* host, uint64_t question, TRITONSERVER_Error_Code error_code, const char* error_message, uint32_t value, const char* text) {
  TRITONHOST_REQUIRE(host);
  Bridge::Answer answer;
  if (error_message != nullptr) answer.error.reset(MakeError(error_code, error_message));
  answer.value = value;
  if (text != nullptr) answer.text = text;
  return host->bridge.GiveAnswer(question, std::move(answer));
}

size_t tritonhost_drain(TritonHost* host, TritonHostEvent** events, size_t capacity) { return host->events->Drain(events, capacity); }

void tritonhost_event_free(TritonHostEvent* event) { delete static_cast<Event*>(event); }

TritonHostMemory* tritonhost_keep_tensor(const TritonHostEvent* event, uint32_t tensor) {
  const auto& owned = static_cast<const Event*>(event)->owned_tensors;
  return tensor < owned.size() && owned[tensor].memory != nullptr ? new TritonHostMemory{owned[tensor].memory} : nullptr;
}

void tritonhost_memory_free(TritonHostMemory* memory) { delete memory; }
