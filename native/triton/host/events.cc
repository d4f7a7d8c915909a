#include "events.h"

#include <algorithm>

namespace npu_console::triton {
namespace {

thread_local std::weak_ptr<EventQueue> current_queue;
thread_local std::uint64_t current_model = 0;
thread_local bool is_embedder_thread = false;
thread_local bool executes_batch = false;

// Does it tell the embedder nothing that it could act on before the batch is over? Not so an answer: its client waits, and the backend may go on for long.
bool CanWaitForBatch(const Event& event) {
  switch (event.kind) {
    case TRITONHOST_EVENT_REQUEST_RELEASED:
    case TRITONHOST_EVENT_BATCH_STATISTICS:
    case TRITONHOST_EVENT_RESPONSE_STATISTICS:
      return true;
    default:
      return false;
  }
}

}  // namespace

Event::Event(TritonHostEventKind event_kind) : TritonHostEvent{} { kind = event_kind; }

Event& Event::Token(std::uint64_t value) {
  token = value;
  return *this;
}

Event& Event::Model(std::uint64_t value) {
  model = value;
  return *this;
}

Event& Event::Instance(std::uint64_t value) {
  instance = value;
  return *this;
}

Event& Event::Text(std::string value) {
  text_text = std::move(value);
  has_text = true;
  return *this;
}

Event& Event::Error(const TRITONSERVER_Error* error) {
  if (error == nullptr) return *this;
  has_error = true;
  error_code = error->code;
  error_text = error->message;
  return *this;
}

Event& Event::Times(std::uint64_t first, std::uint64_t second, std::uint64_t third, std::uint64_t fourth) {
  has_times = true;
  times[0] = first;
  times[1] = second;
  times[2] = third;
  times[3] = fourth;
  return *this;
}

void Event::Seal() {
  if (has_error) error_message = error_text.c_str();
  if (has_name) name = name_text.c_str();
  if (has_text) text = text_text.c_str();
  if (has_detail) detail = detail_text.c_str();
  if (has_correlation) correlation_string = correlation_text.c_str();

  tensor_buffers_.reserve(owned_tensors.size());
  for (const OwnedTensor& tensor : owned_tensors) {
    tensor_buffers_.push_back({tensor.memory.get(), tensor.attributes.byte_size});
    c_tensors_.push_back({tensor.name.c_str(), tensor.datatype, tensor.shape.data(), static_cast<std::uint32_t>(tensor.shape.size()), &tensor_buffers_.back(), 1});
  }
  for (const LentTensor& tensor : lent_tensors) {
    c_tensors_.push_back({tensor.name.c_str(), tensor.datatype, tensor.shape.data(), static_cast<std::uint32_t>(tensor.shape.size()), tensor.buffers.data(),
                          static_cast<std::uint32_t>(tensor.buffers.size())});
  }
  tensors = c_tensors_.data();
  tensor_count = static_cast<std::uint32_t>(c_tensors_.size());

  for (const TRITONSERVER_Parameter& parameter : owned_parameters) {
    c_parameters_.push_back({parameter.name.c_str(), parameter.type, parameter.bytes.c_str(), parameter.bytes.size(), parameter.integer, parameter.boolean, parameter.real});
  }
  parameters = c_parameters_.data();
  parameter_count = static_cast<std::uint32_t>(c_parameters_.size());

  usages = owned_usages.data();
  usage_count = static_cast<std::uint32_t>(owned_usages.size());

  for (const std::string& output : owned_outputs) c_outputs_.push_back(output.c_str());
  outputs = c_outputs_.data();
  output_count = static_cast<std::uint32_t>(c_outputs_.size());
}

BatchScope::BatchScope() { executes_batch = true; }

BatchScope::~BatchScope() { executes_batch = false; }

EventQueue::EventQueue(void (*notify)(void*), void* notify_context, std::uint32_t log_levels)
    : notify_(notify), notify_context_(notify_context), log_levels_(log_levels) {}

void EventQueue::Push(EventPtr event) {
  event->Seal();
  const bool can_wait = executes_batch && CanWaitForBatch(*event);
  const std::lock_guard lock(mutex_);
  if (is_closed_) return;
  events_.push_back(std::move(event));
  if (is_notified_ || can_wait) return;
  is_notified_ = true;
  // Under the lock, so that none comes after Close(): the embedder's function only wakes somebody up.
  if (notify_ != nullptr) notify_(notify_context_);
}

std::size_t EventQueue::Drain(TritonHostEvent** events, std::size_t capacity) {
  const std::lock_guard lock(mutex_);
  const std::size_t count = std::min(capacity, events_.size());
  for (std::size_t index = 0; index < count; ++index) {
    events[index] = events_.front().release();
    events_.pop_front();
  }
  if (count == 0) is_notified_ = false;
  return count;
}

void EventQueue::Close() {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
}

void EventQueue::Log(TRITONSERVER_LogLevel level, const char* file, int line, std::string message) {
  if (!LogsLevel(level)) return;
  EventPtr event = NewEvent(TRITONHOST_EVENT_LOG);
  event->Model(current_model);
  event->level = level;
  event->line = line;
  event->has_detail = true;
  event->detail_text = file == nullptr ? "" : file;
  event->Text(std::move(message));
  Push(std::move(event));
}

namespace {

struct Registry {
  std::mutex mutex;
  std::vector<std::weak_ptr<EventQueue>> queues;  // oldest first
};

// Never destroyed: a backend's thread may log while the process exits.
Registry& TheRegistry() {
  static auto* const registry = new Registry;
  return *registry;
}

}  // namespace

EventQueuePtr CurrentEventQueue() {
  if (EventQueuePtr queue = current_queue.lock()) return queue;
  Registry& registry = TheRegistry();
  const std::lock_guard lock(registry.mutex);
  for (const auto& candidate : registry.queues) {
    if (EventQueuePtr queue = candidate.lock()) return queue;
  }
  return nullptr;
}

void SetCurrentEventQueue(const EventQueuePtr& queue, std::uint64_t model) {
  current_queue = queue;
  current_model = model;
}

OnEmbedderThread::OnEmbedderThread(const EventQueuePtr& queue, std::uint64_t model)
    : queue_before_(current_queue), model_before_(current_model), was_current_(is_embedder_thread) {
  SetCurrentEventQueue(queue, model);
  is_embedder_thread = true;
}

OnEmbedderThread::~OnEmbedderThread() {
  current_queue = queue_before_;
  current_model = model_before_;
  is_embedder_thread = was_current_;
}

bool OnEmbedderThread::IsCurrent() { return is_embedder_thread; }

void RegisterEventQueue(const EventQueuePtr& queue) {
  Registry& registry = TheRegistry();
  const std::lock_guard lock(registry.mutex);
  std::erase_if(registry.queues, [](const auto& candidate) { return candidate.expired(); });
  registry.queues.push_back(queue);
}

}  // namespace npu_console::triton
