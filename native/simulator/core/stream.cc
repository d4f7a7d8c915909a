#include "core/stream.h"

#include <pthread.h>

#include <chrono>
#include <utility>

#include "core/shared_state.h"

namespace simulator {

Stream::Stream(Handle handle, Handle context, int device)
    : handle_(handle), context_(context), device_(device), thread_([this] { Work(); }) {}

Stream::~Stream() { Stop(true); }

void Stream::Enqueue(Task task) {
  {
    const std::lock_guard lock(mutex_);
    if (!isStopping_) {
      tasks_.push_back(std::move(task));
      wake_.notify_one();
      return;
    }
  }
  if (task.done) task.done({ACL_ERROR_RT_DEVICE_TASK_ABORT, "the stream is being destroyed"});
}

bool Stream::Synchronize(int64_t milliseconds, TaskResult &error) {
  std::unique_lock lock(mutex_);
  const auto isIdle = [this] { return tasks_.empty() && !isRunning_; };
  if (milliseconds < 0) {
    idle_.wait(lock, isIdle);
  } else if (!idle_.wait_for(lock, std::chrono::milliseconds(milliseconds), isIdle)) {
    return false;
  }
  error = std::exchange(firstError_, {});
  return true;
}

bool Stream::IsIdle() {
  const std::lock_guard lock(mutex_);
  return tasks_.empty() && !isRunning_;
}

void Stream::Abort() {
  std::deque<Task> dropped;
  {
    std::unique_lock lock(mutex_);
    dropped.swap(tasks_);
    // Whoever waits for them, or comes to wait, is not told that they are done.
    if (!dropped.empty() && firstError_.code == ACL_SUCCESS) firstError_ = {ACL_ERROR_RT_DEVICE_TASK_ABORT, "the stream was aborted before its work was done"};
    if (isRunning_) {
      isAborting_ = true;
      idle_.wait(lock, [this] { return !isRunning_; });
      isAborting_ = false;
    }
    idle_.notify_all();
  }
  for (Task &task : dropped) {
    if (task.done) task.done({ACL_ERROR_RT_DEVICE_TASK_ABORT, "the stream was aborted"});
  }
}

bool Stream::IsAborting() {
  const std::lock_guard lock(mutex_);
  return isAborting_;
}

void Stream::Stop(bool drop) {
  if (!thread_.joinable()) return;
  if (drop) Abort();
  {
    const std::lock_guard lock(mutex_);
    isStopping_ = true;
    if (drop) isAborting_ = true;
    wake_.notify_one();
  }
  thread_.join();
}

void Stream::Work() {
  pthread_setname_np(pthread_self(), "sim-stream");
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return !tasks_.empty() || isStopping_; });
    if (tasks_.empty()) return;
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    isRunning_ = true;
    lock.unlock();
    const TaskResult result = task.run(*this);
    if (task.done) task.done(result);
    // What the task holds (a model, buffers) is let go before anyone is told that the stream is idle.
    task = {};
    lock.lock();
    isRunning_ = false;
    if (result.code != ACL_SUCCESS && firstError_.code == ACL_SUCCESS) firstError_ = result;
    idle_.notify_all();
  }
}

uint64_t Event::Request() {
  const std::lock_guard lock(mutex_);
  return ++requested_;
}

void Event::Complete(uint64_t record) {
  const std::lock_guard lock(mutex_);
  if (record > completed_) completed_ = record;
  finishedAt_ = NowNanoseconds();
  changed_.notify_all();
}

uint64_t Event::requested() {
  const std::lock_guard lock(mutex_);
  return requested_;
}

bool Event::IsComplete(uint64_t record) {
  const std::lock_guard lock(mutex_);
  return completed_ >= record;
}

bool Event::Wait(uint64_t record, const std::function<bool()> &isAborting) {
  std::unique_lock lock(mutex_);
  while (completed_ < record) {
    if (isAborting && isAborting()) return false;
    // Wakes now and then to see whether the waiting stream was aborted.
    changed_.wait_for(lock, std::chrono::milliseconds(isAborting ? 10 : 1000));
  }
  return true;
}

uint64_t Event::finishedAt() {
  const std::lock_guard lock(mutex_);
  return completed_ == 0 ? 0 : finishedAt_;
}

}  // namespace simulator
