#include "request_ledger.h"

#include <algorithm>
#include <unordered_set>

namespace npu_console::triton {
namespace {

constexpr std::size_t kKeptAfterLeaving = 64;

TRITONBACKEND_Input ToInput(const TritonHostTensor& tensor) {
  TRITONBACKEND_Input input;
  input.name = tensor.name;
  input.datatype = tensor.datatype;
  input.shape.assign(tensor.shape, tensor.shape + tensor.dims_count);
  for (std::uint32_t index = 0; index < tensor.buffer_count; ++index) {
    const TritonHostBuffer& buffer = tensor.buffers[index];
    // A backend need not be asked to copy nothing from nowhere.
    if (buffer.byte_size == 0) continue;
    input.buffers.push_back(buffer);
    TRITONSERVER_BufferAttributes attributes;
    attributes.byte_size = buffer.byte_size;
    input.attributes.push_back(attributes);
    input.byte_size += buffer.byte_size;
  }
  return input;
}

}  // namespace

RequestLedger::RequestLedger(std::shared_ptr<const ModelFacts> model, std::uint64_t instance, EventQueuePtr events)
    : model_(std::move(model)), instance_(instance), events_(std::move(events)) {}

RequestLedger::Record RequestLedger::NewRecord(const TritonHostRequest& source) {
  auto record = std::make_unique<TRITONBACKEND_Request>();
  record->ledger = this;
  record->token = source.token;
  if (source.id != nullptr) record->id = source.id;
  record->correlation_id = source.correlation_id;
  if (source.correlation_string != nullptr) {
    record->correlation_string = source.correlation_string;
    record->has_correlation_string = true;
  }
  record->flags = source.flags;
  record->timeout_us = source.timeout_us;
  for (std::uint32_t input = 0; input < source.input_count; ++input) record->inputs.push_back(ToInput(source.inputs[input]));
  if (source.output_count == 0) {
    record->outputs = model_->outputs;
  } else {
    record->outputs.assign(source.outputs, source.outputs + source.output_count);
  }
  for (std::uint32_t parameter = 0; parameter < source.parameter_count; ++parameter) {
    record->parameters.push_back(ToParameter(source.parameters[parameter]));
  }
  if (source.trace_id != 0) {
    record->trace = std::make_unique<TRITONSERVER_InferenceTrace>();
    record->trace->id = source.trace_id;
    record->trace->model_name = model_->name;
    record->trace->model_version = model_->version;
    record->trace->request_id = record->id;
    record->trace->events = events_;
    record->trace->model_token = model_->token;
  }
  return record;
}

RequestLedger::Record RequestLedger::Preview(const TritonHostRequest& request) {
  Record record = NewRecord(request);
  record->is_preview = true;
  return record;
}

TRITONSERVER_Error* RequestLedger::Add(const TritonHostRequest* requests, std::uint32_t count, std::vector<TRITONBACKEND_Request*>* added) {
  std::vector<Record> records;
  const auto batch_memory = std::make_shared<BatchMemory>(count);
  for (std::uint32_t index = 0; index < count; ++index) {
    records.push_back(NewRecord(requests[index]));
    records.back()->batch_memory = batch_memory;
  }

  const std::lock_guard lock(mutex_);
  std::unordered_set<std::uint64_t> tokens;
  for (const Record& record : records) {
    if (open_.contains(record->token) || !tokens.insert(record->token).second) {
      return InvalidArgument("request token " + std::to_string(record->token) + " is in use: take another, or wait until that request is over");
    }
  }
  for (Record& record : records) {
    added->push_back(record.get());
    open_.emplace(record->token, std::move(record));
  }
  return nullptr;
}

void RequestLedger::Cancel(std::uint64_t token) {
  const std::lock_guard lock(mutex_);
  const auto found = open_.find(token);
  if (found != open_.end()) found->second->is_cancelled = true;
}

void RequestLedger::FailBatch(const std::vector<std::uint64_t>& tokens, const TRITONSERVER_Error& error) {
  const std::lock_guard lock(mutex_);
  std::size_t failed = 0;
  for (const std::uint64_t token : tokens) {
    const auto found = open_.find(token);
    if (found == open_.end() || found->second->is_released) continue;
    TRITONBACKEND_Request& request = *found->second;
    ++failed;
    request.is_released = true;
    if (!request.is_answered) PushErrorResponse(request, error);
    PushReleased(request, TRITONSERVER_REQUEST_RELEASE_ALL);
    Settle(&request);
  }
  if (failed < tokens.size()) {
    PushViolation(nullptr, "backend '" + model_->backend + "' failed a batch of model '" + model_->name + "' after releasing " + std::to_string(tokens.size() - failed) +
                               " of its " + std::to_string(tokens.size()) + " requests; an error may be returned only before any release");
  }
}

void RequestLedger::WaitUntilSettled(std::chrono::milliseconds report_every, std::chrono::milliseconds leak_grace, const std::string& instance_name) {
  using Clock = std::chrono::steady_clock;
  std::unique_lock lock(mutex_);
  const auto started = Clock::now();
  auto next_report = started + report_every;
  auto give_up = started + leak_grace;
  while (!open_.empty()) {
    const auto held = std::count_if(open_.begin(), open_.end(), [](const auto& entry) { return !entry.second->is_released; });
    const auto now = Clock::now();
    // The grace begins when all requests are released: only then can nothing but responses be missing.
    if (held > 0) give_up = now + leak_grace;
    if (now >= give_up) {
      GiveUpLeaks();
      break;
    }
    if (now >= next_report) {
      const auto seconds = std::chrono::duration_cast<std::chrono::milliseconds>(now - started).count() / 1000.0;
      PushViolation(nullptr, "removing instance '" + instance_name + "' of model '" + model_->name + "' has waited " + std::to_string(seconds).substr(0, 5) + " s for backend '" +
                                 model_->backend + "': " + std::to_string(held) + " requests not released, " + std::to_string(open_.size() - held) +
                                 " released with responses or response factories outstanding");
      next_report = now + report_every;
    }
    settled_.wait_until(lock, std::min(next_report, give_up));
  }
}

bool RequestLedger::HasLeaks() {
  const std::lock_guard lock(mutex_);
  return !leaked_.empty();
}

TRITONSERVER_Error* RequestLedger::Release(TRITONBACKEND_Request* request, std::uint32_t flags) {
  const std::lock_guard lock(mutex_);
  if (request->is_preview) return PreviewError(*request, "TRITONBACKEND_RequestRelease");
  if (request->is_released) return ReleasedError(request, "TRITONBACKEND_RequestRelease");
  if (flags != TRITONSERVER_REQUEST_RELEASE_ALL && flags != TRITONSERVER_REQUEST_RELEASE_RESCHEDULE) {
    return InvalidArgument("unknown request release flags " + std::to_string(flags) + ": expected TRITONSERVER_REQUEST_RELEASE_ALL or TRITONSERVER_REQUEST_RELEASE_RESCHEDULE");
  }
  const bool is_rescheduled = flags == TRITONSERVER_REQUEST_RELEASE_RESCHEDULE;
  if (is_rescheduled && !model_->may_reschedule) {
    return InvalidArgument("Request is released with TRITONSERVER_REQUEST_RELEASE_RESCHEDULE, while the model is not configured to handle such a flag.");
  }
  request->is_released = true;
  if (is_rescheduled) request->is_answered = true;
  PushReleased(*request, flags);
  Settle(request);
  return nullptr;
}

TRITONSERVER_Error* RequestLedger::NewResponse(TRITONBACKEND_Request* request, bool from_factory, TRITONBACKEND_Response** response) {
  const std::lock_guard lock(mutex_);
  if (request->is_preview) return PreviewError(*request, "TRITONBACKEND_ResponseNew");
  if (!from_factory && request->is_released) return ReleasedError(request, "TRITONBACKEND_ResponseNew");
  if (request->is_answered) return AfterFinalError(*request, "made a response for");
  auto created = std::make_unique<TRITONBACKEND_Response>();
  created->request = request;
  *response = created.get();
  request->responses.emplace(created.get(), std::move(created));
  return nullptr;
}

TRITONSERVER_Error* RequestLedger::DeleteResponse(TRITONBACKEND_Response* response) {
  const std::lock_guard lock(mutex_);
  TRITONBACKEND_Request* const request = response->request;
  request->responses.erase(response);
  Settle(request);
  return nullptr;
}

TRITONSERVER_Error* RequestLedger::Send(TRITONBACKEND_Response* response, std::uint32_t flags, const TRITONSERVER_Error* error) {
  const std::lock_guard lock(mutex_);
  TRITONBACKEND_Request& request = *response->request;
  auto sent = request.responses.extract(response);
  TRITONSERVER_Error* result = nullptr;
  if (request.is_answered) {
    result = AfterFinalError(request, "sent a response to");
  } else {
    EventPtr event = RequestEvent(TRITONHOST_EVENT_RESPONSE, request);
    event->flags = flags;
    event->Error(error);
    if (error == nullptr) {
      for (auto& output : response->outputs) event->owned_tensors.push_back(std::move(*output));
    }
    event->owned_parameters = std::move(response->parameters);
    events_->Push(std::move(event));
    request.is_answered = (flags & TRITONSERVER_RESPONSE_COMPLETE_FINAL) != 0;
  }
  sent = {};
  Settle(&request);
  return result;
}

TRITONSERVER_Error* RequestLedger::NewFactory(TRITONBACKEND_Request* request, TRITONBACKEND_ResponseFactory** factory) {
  const std::lock_guard lock(mutex_);
  if (request->is_preview) return PreviewError(*request, "TRITONBACKEND_ResponseFactoryNew");
  if (request->is_released) return ReleasedError(request, "TRITONBACKEND_ResponseFactoryNew");
  auto created = std::make_unique<TRITONBACKEND_ResponseFactory>();
  created->request = request;
  *factory = created.get();
  request->factories.emplace(created.get(), std::move(created));
  return nullptr;
}

TRITONSERVER_Error* RequestLedger::DeleteFactory(TRITONBACKEND_ResponseFactory* factory) {
  const std::lock_guard lock(mutex_);
  TRITONBACKEND_Request* const request = factory->request;
  request->factories.erase(factory);
  Settle(request);
  return nullptr;
}

TRITONSERVER_Error* RequestLedger::SendFlags(TRITONBACKEND_ResponseFactory* factory, std::uint32_t flags) {
  const std::lock_guard lock(mutex_);
  TRITONBACKEND_Request& request = *factory->request;
  if (request.is_answered) return AfterFinalError(request, "sent flags to");
  EventPtr event = RequestEvent(TRITONHOST_EVENT_RESPONSE, request);
  event->flags = flags;
  event->is_empty = true;
  events_->Push(std::move(event));
  request.is_answered = (flags & TRITONSERVER_RESPONSE_COMPLETE_FINAL) != 0;
  return nullptr;
}

TRITONSERVER_Error* RequestLedger::NewState(
    TRITONBACKEND_Request* request, const char* name, TRITONSERVER_DataType datatype, const std::int64_t* shape, std::uint32_t dims_count, TRITONBACKEND_State** state) {
  const std::lock_guard lock(mutex_);
  if (request->is_preview) return PreviewError(*request, "TRITONBACKEND_StateNew");
  if (request->is_released) return ReleasedError(request, "TRITONBACKEND_StateNew");
  if (model_->states.empty()) {
    return InvalidArgument(std::string("unable to add state '") + name + "'. State configuration is missing for model '" + model_->name + "'.");
  }
  if (std::find(model_->states.begin(), model_->states.end(), name) == model_->states.end()) {
    return InvalidArgument(std::string("state '") + name + "' is not a valid state name.");
  }
  TRITONBACKEND_State& created = request->states.emplace_back();
  created.request = request;
  created.name = name;
  created.datatype = datatype;
  created.shape.assign(shape, shape + dims_count);
  *state = &created;
  return nullptr;
}

TRITONSERVER_Error* RequestLedger::UpdateState(TRITONBACKEND_State* state) {
  const std::lock_guard lock(mutex_);
  if (state->request->is_released) return ReleasedError(state->request, "TRITONBACKEND_StateUpdate");
  // The last update of a name is the one that counts.
  for (TRITONBACKEND_State& other : state->request->states) {
    if (other.name == state->name) other.is_updated = false;
  }
  state->is_updated = true;
  return nullptr;
}

TRITONSERVER_Error* RequestLedger::ReportTimes(TRITONBACKEND_Request* request, bool success, const std::uint64_t (&times)[4]) {
  const std::lock_guard lock(mutex_);
  if (request->is_preview) return PreviewError(*request, "TRITONBACKEND_ModelInstanceReportStatistics");
  if (request->is_released) return ReleasedError(request, "TRITONBACKEND_ModelInstanceReportStatistics");
  request->has_times = true;
  request->success = success;
  std::copy(std::begin(times), std::end(times), request->times);
  return nullptr;
}

EventPtr RequestLedger::RequestEvent(TritonHostEventKind kind, const TRITONBACKEND_Request& request) const {
  EventPtr event = NewEvent(kind);
  event->Token(request.token).Model(model_->token).Instance(instance_);
  return event;
}

void RequestLedger::PushViolation(const TRITONBACKEND_Request* request, std::string text) {
  EventPtr event = NewEvent(TRITONHOST_EVENT_VIOLATION);
  event->Token(request == nullptr ? 0 : request->token).Model(model_->token).Instance(instance_).Text(std::move(text));
  events_->Push(std::move(event));
}

void RequestLedger::PushErrorResponse(TRITONBACKEND_Request& request, const TRITONSERVER_Error& error) {
  EventPtr event = RequestEvent(TRITONHOST_EVENT_RESPONSE, request);
  event->flags = TRITONSERVER_RESPONSE_COMPLETE_FINAL;
  event->Error(&error);
  events_->Push(std::move(event));
  request.is_answered = true;
}

void RequestLedger::PushReleased(TRITONBACKEND_Request& request, std::uint32_t flags) {
  EventPtr event = RequestEvent(TRITONHOST_EVENT_REQUEST_RELEASED, request);
  event->flags = flags;
  if (request.has_times) {
    event->success = request.success;
    event->Times(request.times[0], request.times[1], request.times[2], request.times[3]);
  }
  for (TRITONBACKEND_State& state : request.states) {
    if (state.is_updated) event->owned_tensors.push_back(std::move(state));
  }
  events_->Push(std::move(event));
}

TRITONSERVER_Error* RequestLedger::ReleasedError(TRITONBACKEND_Request* request, const char* what) {
  const std::string text = std::string(what) + ": " + Name(*request) + " was already released";
  PushViolation(request, "backend '" + model_->backend + "' called " + text);
  return InvalidArgument(text);
}

TRITONSERVER_Error* RequestLedger::PreviewError(const TRITONBACKEND_Request& request, const char* what) const {
  return InvalidArgument(std::string(what) + ": " + Name(request) + " waits for its batch: a batching library may only read it");
}

TRITONSERVER_Error* RequestLedger::AfterFinalError(TRITONBACKEND_Request& request, const char* what) {
  const std::string text = "backend '" + model_->backend + "' " + what + " " + Name(request) + " after its final response";
  PushViolation(&request, text);
  return InvalidArgument(text);
}

void RequestLedger::Settle(TRITONBACKEND_Request* request) {
  if (!request->is_released || !request->responses.empty() || !request->factories.empty()) return;
  const auto found = open_.find(request->token);
  // One that was given up is kept for as long as its library is open.
  if (found == open_.end() || found->second.get() != request) return;
  if (!request->is_answered) {
    const std::string text = "backend '" + model_->backend + "' released " + Name(*request) + " without a final response";
    PushViolation(request, text);
    PushErrorResponse(*request, {TRITONSERVER_ERROR_INTERNAL, text});
  }
  request->batch_memory.reset();
  left_.push_back(std::move(found->second));
  open_.erase(found);
  if (left_.size() > kKeptAfterLeaving) left_.pop_front();
  if (open_.empty()) settled_.notify_all();
}

void RequestLedger::GiveUpLeaks() {
  for (auto& [token, record] : open_) {
    const std::string text = "backend '" + model_->backend + "' left " + std::to_string(record->responses.size()) + " responses and " + std::to_string(record->factories.size()) +
                             " response factories of " + Name(*record) + " undeleted";
    PushViolation(record.get(), text);
    if (!record->is_answered) PushErrorResponse(*record, {TRITONSERVER_ERROR_INTERNAL, text + " and never answered it"});
    leaked_.push_back(std::move(record));
  }
  open_.clear();
}

std::string RequestLedger::Name(const TRITONBACKEND_Request& request) const {
  const std::string name = request.id.empty() ? "request " + std::to_string(request.token) : "request '" + request.id + "'";
  return name + " of model '" + model_->name + "'";
}

}  // namespace npu_console::triton
