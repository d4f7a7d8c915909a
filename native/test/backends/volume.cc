// A batching library: the numbers of input X in one batch are at most as many as the model's parameter "max_volume" says. The parameter "batch" of a request makes it
// misbehave: "fail", "throw", "ask" (the server, from a thread that may not), "release" (a request that is not its own).
#include <memory>

#include "fixture.h"

using namespace fixture;

struct TRITONBACKEND_Batcher {
  std::int64_t limit;
  TRITONSERVER_Server* server;
};

namespace {

// What it keeps of a batch.
struct Batch {
  const TRITONBACKEND_Batcher* batcher;
  std::int64_t volume = 0;
  TRITONBACKEND_Request* first = nullptr;
};

std::int64_t LimitOf(TRITONBACKEND_Model* model) {
  TRITONSERVER_Message* message = nullptr;
  Must(TRITONBACKEND_ModelConfig(model, 1, &message));
  const std::string config = Json(message);
  Must(TRITONSERVER_MessageDelete(message));
  const std::size_t at = config.find("\"max_volume\"");
  if (at == std::string::npos) throw std::runtime_error("the model has no parameter max_volume");
  return std::stoll(config.substr(config.find_first_of("0123456789", at)));
}

void Misbehave(const std::string& how, TRITONBACKEND_Request* request, const Batch& batch) {
  if (how == "fail") throw std::runtime_error("told to fail");
  if (how == "ask") {
    bool is_live = false;
    Must(TRITONSERVER_ServerIsLive(batch.batcher->server, &is_live));
  }
  if (how == "release") Must(TRITONBACKEND_RequestRelease(request, TRITONSERVER_REQUEST_RELEASE_ALL));
}

}  // namespace

extern "C" {

TRITONBACKEND_ISPEC TRITONSERVER_Error* TRITONBACKEND_ModelBatcherInitialize(TRITONBACKEND_Batcher** batcher, TRITONBACKEND_Model* model) {
  return EntryPoint([&] {
    TRITONSERVER_Server* server = nullptr;
    Must(TRITONBACKEND_ModelServer(model, &server));
    *batcher = new TRITONBACKEND_Batcher{LimitOf(model), server};
  });
}

TRITONBACKEND_ISPEC TRITONSERVER_Error* TRITONBACKEND_ModelBatcherFinalize(TRITONBACKEND_Batcher* batcher) {
  Log(TRITONSERVER_LOG_INFO, "finalize batcher");
  delete batcher;
  return nullptr;
}

TRITONBACKEND_ISPEC TRITONSERVER_Error* TRITONBACKEND_ModelBatchInitialize(const TRITONBACKEND_Batcher* batcher, void** userp) {
  *userp = new Batch{batcher};
  return nullptr;
}

TRITONBACKEND_ISPEC TRITONSERVER_Error* TRITONBACKEND_ModelBatchIncludeRequest(TRITONBACKEND_Request* request, void* userp, bool* should_include) {
  const std::string how = Parameter(request, "batch");
  if (how == "throw") throw std::runtime_error("out of order");
  return EntryPoint([&] {
    auto* const batch = static_cast<Batch*>(userp);
    Misbehave(how, request, *batch);
    if (batch->first == nullptr) batch->first = request;
    const auto volume = static_cast<std::int64_t>(Numbers(request, "X").size());
    *should_include = batch->volume + volume <= batch->batcher->limit;
    if (*should_include) batch->volume += volume;
  });
}

#ifndef WITHOUT_BATCH_FINALIZE
TRITONBACKEND_ISPEC TRITONSERVER_Error* TRITONBACKEND_ModelBatchFinalize(void* userp) {
  return EntryPoint([&] {
    const std::unique_ptr<Batch> batch(static_cast<Batch*>(userp));
    if (batch->first == nullptr) return;
    const char* id = nullptr;
    Must(TRITONBACKEND_RequestId(batch->first, &id));
    Log(TRITONSERVER_LOG_INFO, "batch of " + std::to_string(batch->volume) + " from " + id);
  });
}
#endif

}  // extern "C"
