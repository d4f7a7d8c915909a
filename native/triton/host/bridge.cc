#include "bridge.h"

#include <cstring>
#include <exception>
#include <system_error>

TRITONSERVER_InferenceResponse::~TRITONSERVER_InferenceResponse() {
  for (Output& output : outputs) {
    if (allocator == nullptr || allocator->release_fn == nullptr) continue;
    const npu_console::triton::ErrorPtr failure(allocator->release_fn(
        allocator, output.base, output.userp, output.attributes.byte_size, output.attributes.memory_type, output.attributes.memory_type_id));
    const npu_console::triton::EventQueuePtr events = npu_console::triton::CurrentEventQueue();
    if (failure != nullptr && events != nullptr) {
      events->Log(TRITONSERVER_LOG_ERROR, __FILE__, __LINE__, "a response allocator failed to release the buffer of output '" + output.name + "': " + failure->message);
    }
  }
}

namespace npu_console::triton {
namespace {

ErrorPtr Closing() { return ErrorPtr(MakeError(TRITONSERVER_ERROR_UNAVAILABLE, "the server is stopping")); }

OwnedTensor CopyTensor(const TritonHostTensor& source) {
  OwnedTensor tensor;
  tensor.name = source.name;
  tensor.datatype = source.datatype;
  tensor.shape.assign(source.shape, source.shape + source.dims_count);
  std::uint64_t byte_size = 0;
  for (std::uint32_t index = 0; index < source.buffer_count; ++index) byte_size += source.buffers[index].byte_size;
  tensor.memory = AllocateMemory(byte_size);
  tensor.attributes.byte_size = byte_size;
  auto* target = static_cast<std::byte*>(tensor.memory.get());
  for (std::uint32_t index = 0; index < source.buffer_count; ++index) {
    const TritonHostBuffer& piece = source.buffers[index];
    if (piece.byte_size == 0) continue;
    std::memcpy(target, piece.data, piece.byte_size);
    target += piece.byte_size;
  }
  return tensor;
}

// Takes the buffers of a response from the allocator of whoever sent the request, and fills them.
ErrorPtr AllocateOutputs(TRITONSERVER_InferenceResponse* response, void* userp, std::vector<OwnedTensor>* tensors) {
  TRITONSERVER_ResponseAllocator* const allocator = response->allocator;
  if (tensors->empty()) return nullptr;
  if (allocator == nullptr) return ErrorPtr(InvalidArgument("the request has no response allocator: call TRITONSERVER_InferenceRequestSetResponseCallback with one"));
  if (allocator->start_fn != nullptr) {
    if (ErrorPtr error{allocator->start_fn(allocator, userp)}) return error;
  }
  for (OwnedTensor& tensor : *tensors) {
    std::size_t byte_size = tensor.attributes.byte_size;
    TRITONSERVER_MemoryType wish = TRITONSERVER_MEMORY_CPU;
    std::int64_t wish_id = 0;
    if (allocator->query_fn != nullptr) {
      // It may not know; then the wish stays.
      const ErrorPtr unknown(allocator->query_fn(allocator, userp, tensor.name.c_str(), &byte_size, &wish, &wish_id));
    }
    TRITONSERVER_InferenceResponse::Output output;
    output.name = tensor.name;
    output.datatype = tensor.datatype;
    output.shape = tensor.shape;
    output.attributes.byte_size = tensor.attributes.byte_size;
    output.attributes.memory_type = wish;
    output.attributes.memory_type_id = wish_id;
    if (ErrorPtr error{allocator->alloc_fn(
            allocator, tensor.name.c_str(), tensor.attributes.byte_size, wish, wish_id, userp, &output.base, &output.userp, &output.attributes.memory_type,
            &output.attributes.memory_type_id)}) {
      return error;
    }
    response->outputs.push_back(output);
    if (allocator->buffer_attributes_fn != nullptr) {
      if (ErrorPtr error{allocator->buffer_attributes_fn(allocator, tensor.name.c_str(), &response->outputs.back().attributes, userp, output.userp)}) return error;
    }
    if (output.attributes.memory_type == TRITONSERVER_MEMORY_GPU) {
      return ErrorPtr(MakeError(TRITONSERVER_ERROR_UNSUPPORTED, "output '" + tensor.name + "' was given GPU memory: this server answers in CPU memory only"));
    }
    if (tensor.attributes.byte_size == 0) continue;
    if (output.base == nullptr) return ErrorPtr(MakeError(TRITONSERVER_ERROR_INTERNAL, "the response allocator gave no buffer for output '" + tensor.name + "'"));
    std::memcpy(output.base, tensor.memory.get(), tensor.attributes.byte_size);
  }
  return nullptr;
}

}  // namespace

Bridge::Bridge(EventQueuePtr events) : events_(std::move(events)) {}

Bridge::Answer Bridge::Ask(EventPtr event) {
  if (OnEmbedderThread::IsCurrent()) {
    return {ErrorPtr(MakeError(TRITONSERVER_ERROR_UNSUPPORTED, "the server cannot be asked from here: this is the thread that would answer")), 0, {}};
  }
  const auto question = std::make_shared<Question>();
  std::unique_lock lock(mutex_);
  if (is_closed_) return {Closing(), 0, {}};
  const std::uint64_t token = next_token_++;
  event->token = token;
  questions_.emplace(token, question);
  events_->Push(std::move(event));
  answered_.wait(lock, [&] { return question->is_answered || is_closed_; });
  questions_.erase(token);
  if (!question->is_answered) return {Closing(), 0, {}};
  return std::move(question->answer);
}

TRITONSERVER_Error* Bridge::GiveAnswer(std::uint64_t question, Answer answer) {
  const std::lock_guard lock(mutex_);
  const auto found = questions_.find(question);
  if (found == questions_.end() || found->second->is_answered) {
    return MakeError(TRITONSERVER_ERROR_NOT_FOUND, "question " + std::to_string(question) + " is not open: it was answered, or never asked");
  }
  found->second->answer = std::move(answer);
  found->second->is_answered = true;
  answered_.notify_all();
  return nullptr;
}

TRITONSERVER_Error* Bridge::Infer(ModelBridge* model, TRITONSERVER_InferenceRequest* request, TRITONSERVER_InferenceTrace* trace) {
  if (request->response_fn == nullptr || request->release_fn == nullptr) {
    return InvalidArgument("inference request for model '" + request->model_name + "' has no response callback or no release callback");
  }
  EventPtr event = NewEvent(TRITONHOST_EVENT_INFER);
  event->Model(model->model_token());
  event->has_name = true;
  event->name_text = request->model_name;
  event->version = request->model_version;
  event->Text(request->id);
  event->flags = request->flags;
  event->correlation_id = request->correlation_id;
  event->has_correlation = request->has_correlation_string;
  event->correlation_text = request->correlation_string;
  event->priority = request->priority;
  event->timeout_us = request->timeout_us;
  for (const auto& input : request->inputs) event->lent_tensors.push_back({input.name, input.datatype, input.shape, input.buffers});
  event->owned_outputs = request->outputs;
  event->owned_parameters = request->parameters;
  if (trace != nullptr) {
    // One that a backend made with functions of its own is told there, not to the embedder.
    if (trace->events != nullptr) {
      event->trace_id = trace->id;
      event->parent_trace_id = trace->parent_id;
    }
    BeginTrace(trace, request->model_name, request->model_version, request->id);
  }
  const std::lock_guard lock(mutex_);
  if (is_closed_) return Closing().release();
  try {
    model->StartThread();
  } catch (const std::system_error& error) {
    return MakeError(TRITONSERVER_ERROR_UNAVAILABLE, std::string("the machine has no thread left for the answers to a backend's requests (") + error.what() + ")");
  }
  std::uint64_t idle = 0;
  if (!request->token.compare_exchange_strong(idle, next_token_)) {
    return InvalidArgument("inference request for model '" + request->model_name + "' is in the server: it can be sent again after its release callback");
  }
  const std::uint64_t token = next_token_++;
  request->is_cancelled = false;
  inferences_.emplace(token, std::make_shared<Inference>(Inference{model, request, trace, request->model_name, request->id, request->model_version, request->allocator,
                                                                   request->allocator_userp, request->response_fn, request->response_userp}));
  model->CountInference(1);
  event->token = token;
  events_->Push(std::move(event));
  return nullptr;
}

void Bridge::CancelInfer(TRITONSERVER_InferenceRequest* request) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t token = request->token;
  if (token == 0 || request->is_cancelled.exchange(true)) return;
  EventPtr event = NewEvent(TRITONHOST_EVENT_INFER_CANCELLED);
  event->Token(token);
  events_->Push(std::move(event));
}

TRITONSERVER_Error* Bridge::Respond(std::uint64_t infer, const TritonHostReply* reply, std::uint32_t flags) {
  const auto content = std::make_shared<TRITONSERVER_InferenceResponse>();
  auto tensors = std::make_shared<std::vector<OwnedTensor>>();
  if (reply != nullptr) {
    if (reply->model_name != nullptr) content->model_name = reply->model_name;
    content->model_version = reply->model_version;
    if (reply->error_message != nullptr) content->error.reset(MakeError(reply->error_code, reply->error_message));
    for (std::uint32_t index = 0; index < reply->output_count; ++index) tensors->push_back(CopyTensor(reply->outputs[index]));
    for (std::uint32_t index = 0; index < reply->parameter_count; ++index) content->parameters.push_back(ToParameter(reply->parameters[index]));
  }
  const std::lock_guard lock(mutex_);
  const auto found = inferences_.find(infer);
  if (found == inferences_.end() || found->second->is_final) {
    return MakeError(TRITONSERVER_ERROR_NOT_FOUND, "inference request " + std::to_string(infer) + " of a backend is not open: it was answered, or never sent");
  }
  const std::shared_ptr<Inference> inference = found->second;
  if (content->model_name.empty()) content->model_name = inference->model_name;
  content->id = inference->id;
  const bool is_empty = reply == nullptr;
  inference->model->Post([inference, content = is_empty ? nullptr : content, tensors, flags] { Deliver(*inference, content, tensors.get(), flags); });
  if ((flags & TRITONSERVER_RESPONSE_COMPLETE_FINAL) != 0) {
    inference->is_final = true;
    EndIfOver(found);
  }
  return nullptr;
}

void Bridge::Deliver(
    const Inference& inference, const std::shared_ptr<TRITONSERVER_InferenceResponse>& content, std::vector<OwnedTensor>* tensors, std::uint32_t flags) {
  TRITONSERVER_InferenceResponse* response = nullptr;
  if (content != nullptr) {
    response = new TRITONSERVER_InferenceResponse(std::move(*content));
    response->allocator = inference.allocator;
    if (inference.trace != nullptr) inference.trace->model_version = response->model_version;
    try {
      if (ErrorPtr error = AllocateOutputs(response, inference.allocator_userp, tensors)) response->error = std::move(error);
    } catch (const std::exception& exception) {
      response->error.reset(MakeError(TRITONSERVER_ERROR_INTERNAL, std::string("a response allocator threw an exception: ") + exception.what()));
    } catch (...) {
      response->error.reset(MakeError(TRITONSERVER_ERROR_INTERNAL, "a response allocator threw something that is no std::exception"));
    }
  }
  inference.response_fn(response, flags, inference.response_userp);
}

TRITONSERVER_Error* Bridge::ReleaseInfer(std::uint64_t infer) {
  const std::lock_guard lock(mutex_);
  const auto found = inferences_.find(infer);
  if (found == inferences_.end() || found->second->is_released) {
    return MakeError(TRITONSERVER_ERROR_NOT_FOUND, "inference request " + std::to_string(infer) + " of a backend is not held: it was released, or never sent");
  }
  found->second->is_released = true;
  PostRelease(found->second);
  EndIfOver(found);
  return nullptr;
}

void Bridge::EndIfOver(std::unordered_map<std::uint64_t, std::shared_ptr<Inference>>::iterator inference) {
  if (!inference->second->is_final || !inference->second->is_released) return;
  PostEnd(inference->second);
  inferences_.erase(inference);
}

void Bridge::PostRelease(const std::shared_ptr<Inference>& inference) {
  inference->model->Post([inference] {
    TRITONSERVER_InferenceRequest* const request = inference->request;
    request->token = 0;
    request->release_fn(request, TRITONSERVER_REQUEST_RELEASE_ALL, request->release_userp);
  });
}

// Behind its callbacks, in the same thread; apart from them, since those may throw.
void Bridge::PostEnd(const std::shared_ptr<Inference>& inference) {
  if (inference->trace != nullptr) inference->model->Post([trace = inference->trace] { EndTrace(trace); });
  inference->model->Post([inference] { inference->model->CountInference(-1); });
}

void Bridge::Close() {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  answered_.notify_all();
  // Requests of backends that nobody will answer: as if the embedder had failed them.
  for (auto& [token, inference] : inferences_) {
    if (!inference->is_final) {
      const auto content = std::make_shared<TRITONSERVER_InferenceResponse>();
      content->model_name = inference->model_name;
      content->error = Closing();
      inference->model->Post([inference = inference, content] {
        std::vector<OwnedTensor> nothing;
        Deliver(*inference, content, &nothing, TRITONSERVER_RESPONSE_COMPLETE_FINAL);
      });
    }
    if (!inference->is_released) PostRelease(inference);
    PostEnd(inference);
  }
  inferences_.clear();
}

ModelBridge::ModelBridge(Bridge* bridge, std::uint64_t model_token, std::string model_name)
    : bridge_(bridge), model_token_(model_token), model_name_(std::move(model_name)) {}

void ModelBridge::StartThread() {
  const std::lock_guard lock(mutex_);
  if (thread_ == nullptr) thread_ = std::make_unique<TaskThread>("bls " + model_name_, bridge_->events(), model_token_);
}

void ModelBridge::Post(TaskThread::Task task) {
  const std::lock_guard lock(mutex_);
  thread_->Post(std::move(task));
}

void ModelBridge::CountInference(int difference) {
  const std::lock_guard lock(mutex_);
  inferences_ += difference;
  if (inferences_ == 0) settled_.notify_all();
}

void ModelBridge::WaitUntilSettled(std::chrono::milliseconds report_every) {
  std::unique_lock lock(mutex_);
  while (!settled_.wait_for(lock, report_every, [this] { return inferences_ == 0; })) {
    EventPtr event = NewEvent(TRITONHOST_EVENT_VIOLATION);
    event->Model(model_token_).Text("unloading model '" + model_name_ + "' waits for " + std::to_string(inferences_) + " inference requests that its backend sent");
    bridge_->events()->Push(std::move(event));
  }
}

}  // namespace npu_console::triton
