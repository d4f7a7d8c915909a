#include "onnxruntime/cancel_watch.h"

#include <algorithm>
#include <chrono>

namespace npu_console::onnxruntime {

namespace {

// How soon a run learns that nobody waits for it any more; ONNX Runtime itself looks between the nodes of a graph.
constexpr std::chrono::milliseconds INTERVAL(20);

}  // namespace

CancelWatch::~CancelWatch() {
  {
    const std::lock_guard lock(mutex_);
    is_closing_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

CancelWatch::Run::Run(CancelWatch& watch, const OrtApi& api, OrtRunOptions* options) : watch_(watch), api_(api), options_(options) {
  const std::lock_guard lock(watch_.mutex_);
  watch_.runs_.push_back(this);
  if (!watch_.thread_.joinable()) watch_.thread_ = std::thread([&watch] { watch.Watch(); });
}

CancelWatch::Run::~Run() {
  const std::lock_guard lock(watch_.mutex_);
  std::erase(watch_.runs_, this);
}

void CancelWatch::Run::Begin(const kit::Batch& batch) {
  {
    const std::lock_guard lock(mutex_);
    batch_ = &batch;
  }
  // Only a watch that sleeps without a time limit has to be woken, which is rare while there is work.
  if (!watch_.is_asleep_.load()) return;
  { const std::lock_guard lock(watch_.mutex_); }
  watch_.changed_.notify_all();
}

bool CancelWatch::Run::End() {
  const std::lock_guard lock(mutex_);
  batch_ = nullptr;
  if (!is_ended_) return false;
  is_ended_ = false;
  api_.Must(api_.RunOptionsUnsetTerminate(options_));
  return true;
}

void CancelWatch::Watch() {
  constexpr int PATIENCE = 50;
  int idle = 0;
  std::unique_lock lock(mutex_);
  while (!is_closing_) {
    idle = Look() ? 0 : idle + 1;
    if (idle < PATIENCE) {
      changed_.wait_for(lock, INTERVAL);
      continue;
    }
    // Announced before the last look: a run that begins now either is seen by it or sees that it must wake this thread.
    is_asleep_.store(true);
    if (!Look() && !is_closing_) changed_.wait(lock);
    is_asleep_.store(false);
    idle = 0;
  }
}

bool CancelWatch::Look() {
  bool is_any = false;
  for (Run* const run : runs_) {
    const std::lock_guard lock(run->mutex_);
    if (run->batch_ == nullptr) continue;
    is_any = true;
    if (run->is_ended_) continue;
    try {
      if (!run->batch_->IsCancelled()) continue;
      run->api_.Must(run->api_.RunOptionsSetTerminate(run->options_));
      run->is_ended_ = true;
    } catch (const kit::Error& error) {
      KIT_LOG(ERROR, "a cancelled run could not be ended: " + error.message());
    }
  }
  return is_any;
}

}  // namespace npu_console::onnxruntime
