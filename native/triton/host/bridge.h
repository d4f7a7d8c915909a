// What a backend asks of the server it runs in: questions, which it waits for, and inference requests of its own (business logic scripting, BLS). The embedder
// is asked by events and answers through host.h. The answers reach the backend on a thread that each model has for this.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "backend.h"
#include "task_thread.h"
#include "trace.h"

struct TRITONSERVER_ResponseAllocator {
  TRITONSERVER_ResponseAllocatorAllocFn_t alloc_fn = nullptr;
  TRITONSERVER_ResponseAllocatorReleaseFn_t release_fn = nullptr;
  TRITONSERVER_ResponseAllocatorStartFn_t start_fn = nullptr;
  TRITONSERVER_ResponseAllocatorQueryFn_t query_fn = nullptr;
  TRITONSERVER_ResponseAllocatorBufferAttributesFn_t buffer_attributes_fn = nullptr;
};

namespace npu_console::triton {
class ModelBridge;
}

// The handle that TRITONBACKEND_ModelServer answers: one per model.
struct TRITONSERVER_Server {
  npu_console::triton::ModelBridge* bridge;
};

struct TRITONSERVER_InferenceRequest {
  struct Input {
    std::string name;
    TRITONSERVER_DataType datatype = TRITONSERVER_TYPE_INVALID;
    std::vector<std::int64_t> shape;
    std::vector<TritonHostBuffer> buffers;
  };
  TRITONSERVER_Server* server;
  std::string model_name;
  std::int64_t model_version;
  std::string id;
  std::uint32_t flags = 0;
  std::uint64_t correlation_id = 0;
  std::string correlation_string;
  bool has_correlation_string = false;
  std::uint64_t priority = 0;
  std::uint64_t timeout_us = 0;
  std::vector<Input> inputs;
  bool is_raw = false;
  std::vector<std::string> outputs;
  std::vector<TRITONSERVER_Parameter> parameters;
  TRITONSERVER_InferenceRequestReleaseFn_t release_fn = nullptr;
  void* release_userp = nullptr;
  TRITONSERVER_ResponseAllocator* allocator = nullptr;
  void* allocator_userp = nullptr;
  TRITONSERVER_InferenceResponseCompleteFn_t response_fn = nullptr;
  void* response_userp = nullptr;
  std::atomic<std::uint64_t> token{0};  // of the request while the server has it
  std::atomic<bool> is_cancelled{false};
};

struct TRITONSERVER_InferenceResponse {
  struct Output {
    std::string name;
    TRITONSERVER_DataType datatype = TRITONSERVER_TYPE_INVALID;
    std::vector<std::int64_t> shape;
    void* base = nullptr;
    void* userp = nullptr;
    TRITONSERVER_BufferAttributes attributes;
  };
  std::string model_name;
  std::int64_t model_version = -1;
  std::string id;
  npu_console::triton::ErrorPtr error;
  std::vector<TRITONSERVER_Parameter> parameters;
  std::vector<Output> outputs;
  TRITONSERVER_ResponseAllocator* allocator = nullptr;

  TRITONSERVER_InferenceResponse() = default;
  TRITONSERVER_InferenceResponse(TRITONSERVER_InferenceResponse&&) = default;
  ~TRITONSERVER_InferenceResponse();
};

namespace npu_console::triton {

// The table of what was asked and not answered, one per host.
class Bridge {
 public:
  explicit Bridge(EventQueuePtr events);

  struct Answer {
    ErrorPtr error;
    std::uint32_t value = 0;
    std::string text;
  };
  // Waits. `event` bears everything but the token.
  Answer Ask(EventPtr event);
  TRITONSERVER_Error* GiveAnswer(std::uint64_t question, Answer answer);

  TRITONSERVER_Error* Infer(ModelBridge* model, TRITONSERVER_InferenceRequest* request, TRITONSERVER_InferenceTrace* trace);
  void CancelInfer(TRITONSERVER_InferenceRequest* request);
  TRITONSERVER_Error* Respond(std::uint64_t infer, const TritonHostReply* reply, std::uint32_t flags);
  TRITONSERVER_Error* ReleaseInfer(std::uint64_t infer);

  // Nobody will answer any more: who waits gets UNAVAILABLE, and so does who asks later.
  void Close();

  const EventQueuePtr& events() const { return events_; }

 private:
  struct Question {
    bool is_answered = false;
    Answer answer;
  };
  struct Inference {
    ModelBridge* model;
    TRITONSERVER_InferenceRequest* request;
    TRITONSERVER_InferenceTrace* trace;
    // Copies, since the backend may delete the request once it was released, with answers still to come.
    std::string model_name, id;
    std::int64_t model_version;
    TRITONSERVER_ResponseAllocator* allocator;
    void* allocator_userp;
    TRITONSERVER_InferenceResponseCompleteFn_t response_fn;
    void* response_userp;
    bool is_released = false;
    bool is_final = false;
  };

  static void Deliver(const Inference& inference, const std::shared_ptr<TRITONSERVER_InferenceResponse>& content, std::vector<OwnedTensor>* tensors, std::uint32_t flags);
  void EndIfOver(std::unordered_map<std::uint64_t, std::shared_ptr<Inference>>::iterator inference);
  static void PostRelease(const std::shared_ptr<Inference>& inference);
  static void PostEnd(const std::shared_ptr<Inference>& inference);

  const EventQueuePtr events_;
  std::mutex mutex_;
  std::condition_variable answered_;
  std::uint64_t next_token_ = 1;
  bool is_closed_ = false;
  std::unordered_map<std::uint64_t, std::shared_ptr<Question>> questions_;
  std::unordered_map<std::uint64_t, std::shared_ptr<Inference>> inferences_;
};

// The end of the bridge at one model: its handle, its thread for answers, and the count of requests that are out.
class ModelBridge {
 public:
  ModelBridge(Bridge* bridge, std::uint64_t model_token, std::string model_name);

  TRITONSERVER_Server* server() { return &server_; }
  Bridge& bridge() { return *bridge_; }
  std::uint64_t model_token() const { return model_token_; }
  // Starts the thread for answers, where it does not run yet. @throws std::system_error
  void StartThread();
  // To that thread.
  void Post(TaskThread::Task task);
  void CountInference(int difference);
  // Until no request of the model is out. Reports every so often.
  void WaitUntilSettled(std::chrono::milliseconds report_every);

 private:
  Bridge* const bridge_;
  const std::uint64_t model_token_;
  const std::string model_name_;
  TRITONSERVER_Server server_{this};
  std::mutex mutex_;
  std::condition_variable settled_;
  int inferences_ = 0;
  std::unique_ptr<TaskThread> thread_;
};

}  // namespace npu_console::triton
