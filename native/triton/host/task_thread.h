// A thread that runs what it is given, one after another.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "events.h"

namespace npu_console::triton {

class TaskThread {
 public:
  using Task = std::function<void()>;

  // The thread bears the name in system tools and logs to the queue, for the model of that token (0: none).
  TaskThread(std::string name, EventQueuePtr events, std::uint64_t model = 0);
  ~TaskThread();
  TaskThread(const TaskThread&) = delete;
  TaskThread& operator=(const TaskThread&) = delete;

  void Post(Task task);
  // Runs what is there, then ends. Not from the thread itself.
  void Join();

 private:
  void Run(const std::string& name, const EventQueuePtr& events, std::uint64_t model);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  bool is_ending_ = false;
  std::thread thread_;
};

}  // namespace npu_console::triton
