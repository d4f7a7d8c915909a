// Who holds what of the requests of one model instance: the requests a backend was given, and the responses, response factories and states it made of
// them. Every rule of the API about ownership is kept here, and every breach is reported and made good, so that each request is answered once and released once.
//
// A record leaves the ledger when its request was released and nothing made of it is open. The last few that left are kept a while: a backend that uses one
// after its release gets an error instead of touching freed memory.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "batch_memory.h"
#include "events.h"
#include "trace.h"

namespace npu_console::triton {

class RequestLedger;

// What every record needs of its model, without the model.
struct ModelFacts {
  std::uint64_t token;
  std::string name;
  std::int64_t version;
  std::string backend;
  bool may_reschedule;
  std::vector<std::string> outputs;
  std::vector<std::string> states;
};

}  // namespace npu_console::triton

struct TRITONBACKEND_Input {
  std::string name;
  TRITONSERVER_DataType datatype;
  std::vector<std::int64_t> shape;
  std::vector<TritonHostBuffer> buffers;
  std::vector<TRITONSERVER_BufferAttributes> attributes;
  std::uint64_t byte_size = 0;
};

struct TRITONBACKEND_Output : npu_console::triton::OwnedTensor {
  TRITONBACKEND_Request* request = nullptr;
};

struct TRITONBACKEND_State : npu_console::triton::OwnedTensor {
  TRITONBACKEND_Request* request = nullptr;
  bool is_updated = false;
};

struct TRITONBACKEND_Response {
  TRITONBACKEND_Request* request;
  std::vector<std::unique_ptr<TRITONBACKEND_Output>> outputs;
  std::vector<TRITONSERVER_Parameter> parameters;
};

struct TRITONBACKEND_ResponseFactory {
  TRITONBACKEND_Request* request;
};

struct TRITONBACKEND_Request {
  npu_console::triton::RequestLedger* ledger;
  std::uint64_t token;
  std::string id;
  std::uint64_t correlation_id = 0;
  std::string correlation_string;
  bool has_correlation_string = false;
  std::uint32_t flags = 0;
  std::uint64_t timeout_us = 0;
  std::vector<TRITONBACKEND_Input> inputs;
  std::vector<std::string> outputs;
  std::vector<TRITONSERVER_Parameter> parameters;
  std::shared_ptr<npu_console::triton::BatchMemory> batch_memory;  // of all requests that came together; null after it left
  std::unique_ptr<TRITONSERVER_InferenceTrace> trace;
  std::atomic<bool> is_cancelled{false};
  std::atomic<bool> is_released{false};
  bool is_preview = false;  // it waits for its batch: a batching library reads it, nothing can be made of it

  // The rest is the ledger's, under its lock.
  bool is_answered = false;  // the FINAL flag was sent, or will come after the request was scheduled again
  std::unordered_map<TRITONBACKEND_Response*, std::unique_ptr<TRITONBACKEND_Response>> responses;
  std::unordered_map<TRITONBACKEND_ResponseFactory*, std::unique_ptr<TRITONBACKEND_ResponseFactory>> factories;
  std::list<TRITONBACKEND_State> states;
  bool has_times = false;
  bool success = false;
  std::uint64_t times[4] = {};
};

namespace npu_console::triton {

class RequestLedger {
 public:
  RequestLedger(std::shared_ptr<const ModelFacts> model, std::uint64_t instance, EventQueuePtr events);

  // Builds the records of a batch in order. An error when a token is in use; then nothing was added.
  TRITONSERVER_Error* Add(const TritonHostRequest* requests, std::uint32_t count, std::vector<TRITONBACKEND_Request*>* added);
  void Cancel(std::uint64_t token);
  // A record of a request that waits for its batch, for a batching library to read. It is the caller's.
  std::unique_ptr<TRITONBACKEND_Request> Preview(const TritonHostRequest& request);

  // Execute returned an error, threw, or was never called: what the backend did not release is answered with the error and released. Takes no ownership.
  void FailBatch(const std::vector<std::uint64_t>& tokens, const TRITONSERVER_Error& error);

  // Waits until the ledger is empty and reports every so often what it waits for. Requests that were not released are waited for without end: the backend
  // holds their memory. Responses of released ones only so long; then they are given up: reported, and their clients told.
  void WaitUntilSettled(std::chrono::milliseconds report_every, std::chrono::milliseconds leak_grace, const std::string& instance_name);
  // Whether the backend still holds pointers into this ledger, which then must live until the library is closed.
  bool HasLeaks();

  // What the API does. Each error means that nothing was done, but that of Send, which always consumes the response.
  TRITONSERVER_Error* Release(TRITONBACKEND_Request* request, std::uint32_t flags);
  TRITONSERVER_Error* NewResponse(TRITONBACKEND_Request* request, bool from_factory, TRITONBACKEND_Response** response);
  TRITONSERVER_Error* DeleteResponse(TRITONBACKEND_Response* response);
  TRITONSERVER_Error* Send(TRITONBACKEND_Response* response, std::uint32_t flags, const TRITONSERVER_Error* error);
  TRITONSERVER_Error* NewFactory(TRITONBACKEND_Request* request, TRITONBACKEND_ResponseFactory** factory);
  TRITONSERVER_Error* DeleteFactory(TRITONBACKEND_ResponseFactory* factory);
  TRITONSERVER_Error* SendFlags(TRITONBACKEND_ResponseFactory* factory, std::uint32_t flags);
  TRITONSERVER_Error* NewState(
      TRITONBACKEND_Request* request, const char* name, TRITONSERVER_DataType datatype, const std::int64_t* shape, std::uint32_t dims_count,
      TRITONBACKEND_State** state);
  TRITONSERVER_Error* UpdateState(TRITONBACKEND_State* state);
  TRITONSERVER_Error* ReportTimes(TRITONBACKEND_Request* request, bool success, const std::uint64_t (&times)[4]);

  const ModelFacts& model() const { return *model_; }
  std::uint64_t instance() const { return instance_; }
  const EventQueuePtr& events() const { return events_; }

 private:
  using Record = std::unique_ptr<TRITONBACKEND_Request>;

  Record NewRecord(const TritonHostRequest& source);
  TRITONSERVER_Error* PreviewError(const TRITONBACKEND_Request& request, const char* what) const;
  EventPtr RequestEvent(TritonHostEventKind kind, const TRITONBACKEND_Request& request) const;
  void PushViolation(const TRITONBACKEND_Request* request, std::string text);
  void PushErrorResponse(TRITONBACKEND_Request& request, const TRITONSERVER_Error& error);
  void PushReleased(TRITONBACKEND_Request& request, std::uint32_t flags);
  TRITONSERVER_Error* ReleasedError(TRITONBACKEND_Request* request, const char* what);
  TRITONSERVER_Error* AfterFinalError(TRITONBACKEND_Request& request, const char* what);
  // After every change: a record that nobody holds leaves, answered.
  void Settle(TRITONBACKEND_Request* request);
  void GiveUpLeaks();
  std::string Name(const TRITONBACKEND_Request& request) const;

  const std::shared_ptr<const ModelFacts> model_;
  const std::uint64_t instance_;
  const EventQueuePtr events_;
  std::mutex mutex_;
  std::condition_variable settled_;
  std::unordered_map<std::uint64_t, Record> open_;
  std::deque<Record> left_;
  std::vector<Record> leaked_;
};

}  // namespace npu_console::triton
