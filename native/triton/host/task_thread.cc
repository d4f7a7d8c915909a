#include "task_thread.h"

#include <exception>

#include "thread_info.h"

namespace npu_console::triton {

TaskThread::TaskThread(std::string name, EventQueuePtr events, std::uint64_t model)
    : thread_([this, name = std::move(name), events = std::move(events), model] { Run(name, events, model); }) {}

TaskThread::~TaskThread() { Join(); }

void TaskThread::Post(Task task) {
  const std::lock_guard lock(mutex_);
  tasks_.push_back(std::move(task));
  changed_.notify_one();
}

void TaskThread::Join() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
    changed_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

void TaskThread::Run(const std::string& name, const EventQueuePtr& events, std::uint64_t model) {
  NameCurrentThread(name);
  SetCurrentEventQueue(events, model);
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return is_ending_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    try {
      task();
    } catch (const std::exception& exception) {
      events->Log(TRITONSERVER_LOG_ERROR, __FILE__, __LINE__, "a callback of a backend threw an exception on thread '" + name + "': " + exception.what());
    } catch (...) {
      events->Log(TRITONSERVER_LOG_ERROR, __FILE__, __LINE__, "a callback of a backend threw something that is no std::exception on thread '" + name + "'");
    }
    // What it holds may be large: nobody who posts waits for its end.
    task = nullptr;
    lock.lock();
  }
}

}  // namespace npu_console::triton
