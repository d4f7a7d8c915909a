// The one queue from the host to its embedder. Outlives models and instances: whoever may still report something holds it.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "values.h"

namespace npu_console::triton {

// An event with the storage that its C fields point at. Fill the members below; Seal() sets the pointers.
struct Event : TritonHostEvent {
  explicit Event(TritonHostEventKind event_kind);

  Event& Token(std::uint64_t value);
  Event& Model(std::uint64_t value);
  Event& Instance(std::uint64_t value);
  Event& Text(std::string value);
  // Copies; NULL: no error.
  Event& Error(const TRITONSERVER_Error* error);
  Event& Times(std::uint64_t first, std::uint64_t second, std::uint64_t third, std::uint64_t fourth);

  void Seal();

  std::string error_text, name_text, text_text, detail_text, correlation_text;
  bool has_name = false, has_text = false, has_detail = false, has_correlation = false;
  std::vector<OwnedTensor> owned_tensors;
  // Instead of owned ones: what a backend lends. Their names and shapes are copied.
  struct LentTensor {
    std::string name;
    TRITONSERVER_DataType datatype;
    std::vector<std::int64_t> shape;
    std::vector<TritonHostBuffer> buffers;
  };
  std::vector<LentTensor> lent_tensors;
  std::vector<TRITONSERVER_Parameter> owned_parameters;
  std::vector<TritonHostUsage> owned_usages;
  std::vector<std::string> owned_outputs;

 private:
  std::vector<TritonHostBuffer> tensor_buffers_;
  std::vector<TritonHostTensor> c_tensors_;
  std::vector<TritonHostParameter> c_parameters_;
  std::vector<const char*> c_outputs_;
};
using EventPtr = std::unique_ptr<Event>;

inline EventPtr NewEvent(TritonHostEventKind kind) { return std::make_unique<Event>(kind); }

class EventQueue {
 public:
  EventQueue(void (*notify)(void*), void* notify_context, std::uint32_t log_levels);

  // Wakes the embedder, but for a release or statistics on a thread that is inside a BatchScope: what comes behind does.
  void Push(EventPtr event);
  std::size_t Drain(TritonHostEvent** events, std::size_t capacity);

  // What is pushed from now on is dropped, notify is not called again; what is there can still be drained.
  void Close();

  bool LogsLevel(TRITONSERVER_LogLevel level) const { return (log_levels_.load(std::memory_order_relaxed) >> level & 1U) != 0; }
  void SetLogLevels(std::uint32_t levels) { log_levels_.store(levels, std::memory_order_relaxed); }
  void Log(TRITONSERVER_LogLevel level, const char* file, int line, std::string message);

 private:
  void (*const notify_)(void*);
  void* const notify_context_;
  std::atomic<std::uint32_t> log_levels_;
  std::mutex mutex_;
  std::deque<EventPtr> events_;
  bool is_notified_ = false;
  bool is_closed_ = false;
};
using EventQueuePtr = std::shared_ptr<EventQueue>;

// While one lives on a thread, the thread executes a batch, and will say so afterwards with an event.
class BatchScope {
 public:
  BatchScope();
  ~BatchScope();
  BatchScope(const BatchScope&) = delete;
  BatchScope& operator=(const BatchScope&) = delete;
};

// Functions of the API that take no object (logging) speak to the host whose thread this is; on a backend's own thread, to the oldest host of the process.
// NULL where there is none.
EventQueuePtr CurrentEventQueue();
// For all that the calling thread does from now on, which is for the model of that token; 0: for none.
void SetCurrentEventQueue(const EventQueuePtr& queue, std::uint64_t model);
void RegisterEventQueue(const EventQueuePtr& queue);

// While it lives, code of a backend runs on the embedder's own thread: what it logs is the model's, and it may not ask the embedder anything, since that is the
// thread which would answer.
class OnEmbedderThread {
 public:
  OnEmbedderThread(const EventQueuePtr& queue, std::uint64_t model);
  ~OnEmbedderThread();
  OnEmbedderThread(const OnEmbedderThread&) = delete;
  OnEmbedderThread& operator=(const OnEmbedderThread&) = delete;

  static bool IsCurrent();

 private:
  const std::weak_ptr<EventQueue> queue_before_;
  const std::uint64_t model_before_;
  const bool was_current_;
};

}  // namespace npu_console::triton
