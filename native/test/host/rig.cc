#include "rig.h"

#include <chrono>
#include <cstdlib>
#include <cstring>

namespace rig {

namespace {

// How many times longer than usual things may take before they count as never coming: more than 1 under an emulator (CMakePresets.json).
int Patience() {
  const char* const said = std::getenv("NPU_CONSOLE_TEST_PATIENCE");
  return said == nullptr ? 1 : std::atoi(said);
}

}  // namespace

void Must(TRITONSERVER_Error* error) {
  if (error == nullptr) return;
  throw std::runtime_error("the host said: " + Said(error));
}

std::string Said(TRITONSERVER_Error* error) {
  if (error == nullptr) return "";
  std::string text = TRITONSERVER_ErrorMessage(error);
  TRITONSERVER_ErrorDelete(error);
  return text;
}

Request& Request::Id(const char* id) {
  c.id = id;
  return *this;
}

Request& Request::Input(const char* name, std::vector<std::vector<std::int32_t>> pieces) {
  Tensor& tensor = tensors_.emplace_back();
  tensor.name = name;
  tensor.pieces = std::move(pieces);
  std::int64_t count = 0;
  for (const auto& piece : tensor.pieces) {
    tensor.buffers.push_back({piece.data(), piece.size() * sizeof(std::int32_t)});
    count += static_cast<std::int64_t>(piece.size());
  }
  tensor.shape = {count};
  inputs_.push_back({tensor.name.c_str(), TRITONSERVER_TYPE_INT32, tensor.shape.data(), 1, tensor.buffers.data(), static_cast<std::uint32_t>(tensor.buffers.size())});
  return *this;
}

Request& Request::Raw(const char* name, TRITONSERVER_DataType datatype, std::vector<std::int64_t> shape, std::string bytes) {
  Tensor& tensor = tensors_.emplace_back();
  tensor.name = name;
  tensor.bytes = std::move(bytes);
  tensor.shape = std::move(shape);
  tensor.buffers.push_back({tensor.bytes.data(), tensor.bytes.size()});
  inputs_.push_back({tensor.name.c_str(), datatype, tensor.shape.data(), static_cast<std::uint32_t>(tensor.shape.size()), tensor.buffers.data(), 1});
  return *this;
}

Request& Request::Text(const char* name, const char* value) {
  parameters_.push_back({name, TRITONSERVER_PARAMETER_STRING, value, std::strlen(value), 0, false, 0});
  return *this;
}

Request& Request::Int(const char* name, std::int64_t value) {
  parameters_.push_back({name, TRITONSERVER_PARAMETER_INT, nullptr, 0, value, false, 0});
  return *this;
}

Request& Request::Output(const char* name) {
  outputs_.push_back(name);
  return *this;
}

const TritonHostRequest& Request::Sealed() {
  c.inputs = inputs_.data();
  c.input_count = static_cast<std::uint32_t>(inputs_.size());
  c.parameters = parameters_.data();
  c.parameter_count = static_cast<std::uint32_t>(parameters_.size());
  c.outputs = outputs_.data();
  c.output_count = static_cast<std::uint32_t>(outputs_.size());
  return c;
}

Rig::Rig(const Options& options) {
  TritonHostOptions c{};
  c.backend_directories = &options.backend_directory;
  c.backend_directory_count = 1;
  c.notify = [](void* context) {
    auto* const self = static_cast<Rig*>(context);
    const std::lock_guard lock(self->mutex_);
    self->is_notified_ = true;
    ++self->notified_;
    self->changed_.notify_all();
  };
  c.notify_context = this;
  c.log_levels = options.log_levels;
  c.unload_report_ms = options.unload_report_ms;
  c.leak_grace_ms = options.leak_grace_ms;
  Must(tritonhost_new(&c, &host_));
}

Rig::~Rig() {
  if (host_ == nullptr) return;
  TRITONSERVER_Error* const error = tritonhost_delete(host_, static_cast<std::uint32_t>(20'000 * Patience()));
  if (error != nullptr) {
    std::fprintf(stderr, "the host could not be deleted: %s\n", TRITONSERVER_ErrorMessage(error));
    std::abort();
  }
}

EventPtr Rig::Load(std::uint64_t token, const char* backend, const std::function<void(TritonHostModelOptions&)>& change) {
  TritonHostModelOptions options{};
  options.token = token;
  options.name = backend;
  options.version = 1;
  options.directory = "/nowhere/model";
  options.backend = backend;
  options.config_json = R"({"name":"m"})";
  if (change) change(options);
  Must(tritonhost_load_model(host_, &options));
  return Wait(TRITONHOST_EVENT_MODEL_INITIALIZED, token);
}

EventPtr Rig::AddInstance(std::uint64_t token, std::uint64_t model, const char* name, const std::function<void(TritonHostInstanceOptions&)>& change) {
  TritonHostInstanceOptions options{};
  options.token = token;
  options.model = model;
  options.name = name;
  options.kind = TRITONSERVER_INSTANCEGROUPKIND_CPU;
  if (change) change(options);
  Must(tritonhost_add_instance(host_, &options));
  return Wait(TRITONHOST_EVENT_INSTANCE_INITIALIZED, token);
}

void Rig::Serve(std::uint64_t token, const char* backend, const std::function<void(TritonHostModelOptions&)>& change) {
  const EventPtr loaded = Load(token, backend, change);
  EXPECT_EQ(std::string(loaded->has_error ? loaded->error_message : ""), "");
  const EventPtr added = AddInstance(token, token, "instance_0");
  EXPECT_EQ(std::string(added->has_error ? added->error_message : ""), "");
}

void Rig::Submit(std::uint64_t instance, std::uint64_t batch, std::vector<Request*> requests) {
  std::vector<TritonHostRequest> sealed;
  for (Request* request : requests) sealed.push_back(request->Sealed());
  Must(tritonhost_submit(host_, instance, batch, sealed.data(), static_cast<std::uint32_t>(sealed.size())));
}

void Rig::Collect(std::unique_lock<std::mutex>& lock) {
  is_notified_ = false;
  lock.unlock();
  // One thread at a time from the drain to the list: else a later event (a model unloaded) could be in the list while an earlier one (its instance removed) is
  // still in another thread's hands, and would be found there after its turn.
  const std::lock_guard in_order(drain_mutex_);
  std::list<EventPtr> fresh;
  TritonHostEvent* drained[7];
  for (std::size_t count = 0; (count = tritonhost_drain(host_, drained, 7)) > 0;) {
    for (std::size_t index = 0; index < count; ++index) {
      EventPtr event(drained[index]);
      if (event->kind == TRITONHOST_EVENT_QUESTION && event->question == TRITONHOST_QUESTION_INSTANCE_GROUPS) {
        // The config stays as it is.
        Must(tritonhost_answer(host_, event->token, TRITONSERVER_ERROR_UNKNOWN, nullptr, 0, event->text));
      } else {
        fresh.push_back(std::move(event));
      }
    }
  }
  lock.lock();
  if (fresh.empty()) return;
  events_.splice(events_.end(), fresh);
  ++collections_;
  changed_.notify_all();
}

EventPtr Rig::WaitFor(const std::string& what, const std::function<bool(const TritonHostEvent&)>& matches) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60 * Patience());
  std::unique_lock lock(mutex_);
  for (;;) {
    Collect(lock);
    const std::uint64_t seen = collections_;
    for (auto event = events_.begin(); event != events_.end(); ++event) {
      if (!matches(**event)) continue;
      EventPtr taken = std::move(*event);
      events_.erase(event);
      return taken;
    }
    if (!changed_.wait_until(lock, deadline, [&] { return is_notified_ || collections_ != seen; })) {
      std::string came;
      for (const EventPtr& event : events_) {
        came += "\n  kind " + std::to_string(event->kind) + " token " + std::to_string(event->token) + " " + (event->text == nullptr ? "" : event->text) +
                (event->has_error ? std::string(" error: ") + event->error_message : "");
      }
      throw std::runtime_error("never came: " + what + "; what came:" + came);
    }
  }
}

EventPtr Rig::Wait(TritonHostEventKind kind, std::uint64_t token) {
  return WaitFor("event of kind " + std::to_string(kind) + " about " + std::to_string(token), [&](const TritonHostEvent& event) { return event.kind == kind && event.token == token; });
}

EventPtr Rig::WaitAny(TritonHostEventKind kind) {
  return WaitFor("event of kind " + std::to_string(kind), [&](const TritonHostEvent& event) { return event.kind == kind; });
}

EventPtr Rig::WaitText(TritonHostEventKind kind, const std::string& part) {
  return WaitFor("event of kind " + std::to_string(kind) + " that says " + part,
                 [&](const TritonHostEvent& event) { return event.kind == kind && event.text != nullptr && std::string(event.text).find(part) != std::string::npos; });
}

std::size_t Rig::Count(TritonHostEventKind kind) {
  std::unique_lock lock(mutex_);
  Collect(lock);
  std::size_t count = 0;
  for (const EventPtr& event : events_) count += event->kind == kind;
  return count;
}

void Rig::Drop(TritonHostEventKind kind) {
  std::unique_lock lock(mutex_);
  Collect(lock);
  events_.remove_if([kind](const EventPtr& event) { return event->kind == kind; });
}

void Rig::Drop(TritonHostEventKind kind, std::uint64_t token) {
  std::unique_lock lock(mutex_);
  Collect(lock);
  events_.remove_if([&](const EventPtr& event) { return event->kind == kind && event->token == token; });
}

int Rig::notified() {
  const std::lock_guard lock(mutex_);
  return notified_;
}

std::vector<std::int32_t> Numbers(const TritonHostTensor& tensor) {
  std::vector<std::int32_t> numbers;
  for (std::uint32_t index = 0; index < tensor.buffer_count; ++index) {
    const auto* const data = static_cast<const std::int32_t*>(tensor.buffers[index].data);
    numbers.insert(numbers.end(), data, data + tensor.buffers[index].byte_size / sizeof(std::int32_t));
  }
  return numbers;
}

namespace {

const TritonHostTensor& Tensor(const TritonHostEvent& event, const std::string& name) {
  for (std::uint32_t index = 0; index < event.tensor_count; ++index) {
    if (event.tensors[index].name == name) return event.tensors[index];
  }
  throw std::runtime_error("no tensor " + name + (event.has_error ? std::string(", but the error ") + event.error_message : ""));
}

}  // namespace

std::vector<std::int32_t> Numbers(const TritonHostEvent& event, const std::string& name) { return Numbers(Tensor(event, name)); }

std::string Bytes(const TritonHostEvent& event, const std::string& name) {
  const TritonHostTensor& tensor = Tensor(event, name);
  return tensor.buffer_count == 0 ? "" : std::string(static_cast<const char*>(tensor.buffers[0].data), tensor.buffers[0].byte_size);
}

std::string Text(const TritonHostEvent& event, const std::string& name) {
  for (std::uint32_t index = 0; index < event.parameter_count; ++index) {
    const TritonHostParameter& parameter = event.parameters[index];
    if (parameter.name != name) continue;
    switch (parameter.type) {
      case TRITONSERVER_PARAMETER_INT:
        return std::to_string(parameter.integer);
      case TRITONSERVER_PARAMETER_BOOL:
        return parameter.boolean ? "true" : "false";
      case TRITONSERVER_PARAMETER_DOUBLE:
        return std::to_string(parameter.real);
      default:
        return std::string(parameter.bytes, parameter.byte_size);
    }
  }
  return "<none>";
}

}  // namespace rig
