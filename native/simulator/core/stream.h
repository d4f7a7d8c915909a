// A stream: one thread that runs its tasks in order. An event: a point in a stream that others wait for.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "acl/acl_rt.h"

namespace simulator {

/** Contexts, streams and events are numbers dressed as pointers: a stale one is recognised and never points into freed memory. */
using Handle = uint64_t;

struct TaskResult {
  aclError code = ACL_SUCCESS;
  std::string text;
};

class Stream {
 public:
  struct Task {
    std::function<TaskResult(Stream &)> run;
    /** Called once: after the task, or with 107022 when it is dropped. */
    std::function<void(const TaskResult &)> done;
  };

  Stream(Handle handle, Handle context, int device);
  ~Stream();
  Stream(const Stream &) = delete;
  Stream &operator=(const Stream &) = delete;

  Handle handle() const { return handle_; }
  Handle context() const { return context_; }
  int device() const { return device_; }

  void Enqueue(Task task);
  /** Waits until all tasks are done; negative: for ever. @returns false on expiry. On success `error` is the first failure since the last time */
  bool Synchronize(int64_t milliseconds, TaskResult &error);
  bool IsIdle();
  /** Drops what waits, which the next Synchronize tells, and breaks off a task that hangs. */
  void Abort();
  /** For tasks that wait: true once they should give up. */
  bool IsAborting();
  /** Runs everything (or drops it) and ends the thread. */
  void Stop(bool drop);

  /** Core limits of the stream; 0: none. */
  uint32_t cubeLimit = 0;
  uint32_t vectorLimit = 0;

 private:
  void Work();

  const Handle handle_;
  const Handle context_;
  const int device_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable idle_;
  std::deque<Task> tasks_;
  bool isRunning_ = false;
  bool isStopping_ = false;
  bool isAborting_ = false;
  TaskResult firstError_;
  std::thread thread_;
};

class Event {
 public:
  /** @returns the number of this record */
  uint64_t Request();
  void Complete(uint64_t record);
  uint64_t requested();
  bool IsComplete(uint64_t record);
  /** Waits for a record; gives up when `isAborting` says so. */
  bool Wait(uint64_t record, const std::function<bool()> &isAborting);
  /** Of the newest finished record, in nanoseconds; 0: none. */
  uint64_t finishedAt();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t requested_ = 0;
  uint64_t completed_ = 0;
  uint64_t finishedAt_ = 0;
};

}  // namespace simulator
