// A host with an embedder that only collects: tests ask it for the events they wait for.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "host.h"

namespace rig {

struct FreeEvent {
  void operator()(TritonHostEvent* event) const { tritonhost_event_free(event); }
};
using EventPtr = std::unique_ptr<TritonHostEvent, FreeEvent>;

// Throws what an API call returned.
void Must(TRITONSERVER_Error* error);
// What it returned; empty: nothing.
std::string Said(TRITONSERVER_Error* error);

// A request to send, with the storage it points at.
struct Request {
  explicit Request(std::uint64_t request_token) { c.token = request_token; }
  Request& Id(const char* id);
  // Each piece becomes one buffer.
  Request& Input(const char* name, std::vector<std::vector<std::int32_t>> pieces);
  // One buffer of any type.
  Request& Raw(const char* name, TRITONSERVER_DataType datatype, std::vector<std::int64_t> shape, std::string bytes);
  Request& Text(const char* name, const char* value);
  Request& Int(const char* name, std::int64_t value);
  Request& Do(const char* what) { return Text("do", what); }
  Request& Output(const char* name);
  const TritonHostRequest& Sealed();

  TritonHostRequest c{};

 private:
  struct Tensor {
    std::string name;
    std::vector<std::vector<std::int32_t>> pieces;
    std::string bytes;
    std::vector<std::int64_t> shape;
    std::vector<TritonHostBuffer> buffers;
  };
  std::list<Tensor> tensors_;
  std::vector<TritonHostTensor> inputs_;
  std::vector<TritonHostParameter> parameters_;
  std::vector<const char*> outputs_;
};

class Rig {
 public:
  struct Options {
    const char* backend_directory = FIXTURE_BACKENDS;
    std::uint32_t log_levels = 0xF;
    std::uint32_t unload_report_ms = 50;
    std::uint32_t leak_grace_ms = 150;
  };
  Rig() : Rig(Options{}) {}
  explicit Rig(const Options& options);
  // Deletes the host; that must work.
  ~Rig();

  TritonHost* host() { return host_; }

  // Loads a model of a fixture backend and gives it an instance of the same token; waits for both.
  void Serve(std::uint64_t token, const char* backend, const std::function<void(TritonHostModelOptions&)>& change = {});
  EventPtr Load(std::uint64_t token, const char* backend, const std::function<void(TritonHostModelOptions&)>& change = {});
  EventPtr AddInstance(std::uint64_t token, std::uint64_t model, const char* name, const std::function<void(TritonHostInstanceOptions&)>& change = {});
  // One batch.
  void Submit(std::uint64_t instance, std::uint64_t batch, std::vector<Request*> requests);

  // The next event of the kind about the token, taken out of what came; the others stay. Fails after a long while.
  EventPtr Wait(TritonHostEventKind kind, std::uint64_t token);
  EventPtr WaitAny(TritonHostEventKind kind);
  // A violation or log entry whose text has the part.
  EventPtr WaitText(TritonHostEventKind kind, const std::string& part);
  // Those of the kind that came and were not taken.
  std::size_t Count(TritonHostEventKind kind);
  // Forgets those of the kind that came and were not taken: for tests so long that they would fill the memory and slow every search.
  void Drop(TritonHostEventKind kind);
  // Those about the token only.
  void Drop(TritonHostEventKind kind, std::uint64_t token);
  // How often the host said that events wait.
  int notified();

 private:
  EventPtr WaitFor(const std::string& what, const std::function<bool(const TritonHostEvent&)>& matches);
  void Collect(std::unique_lock<std::mutex>& lock);

  TritonHost* host_ = nullptr;
  // Held before mutex_, never asked for under it: the host says that events wait under locks of its own.
  std::mutex drain_mutex_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_notified_ = false;
  int notified_ = 0;
  // How often events were added to the list. One thread may collect what another one waits for: that other one looks again when this has changed.
  std::uint64_t collections_ = 0;
  std::list<EventPtr> events_;
};

std::vector<std::int32_t> Numbers(const TritonHostTensor& tensor);
// The event's output of that name; fails where it has none.
std::vector<std::int32_t> Numbers(const TritonHostEvent& event, const std::string& name);
// The bytes of the event's output of that name.
std::string Bytes(const TritonHostEvent& event, const std::string& name);
// The event's parameter as text; "<none>".
std::string Text(const TritonHostEvent& event, const std::string& name);

}  // namespace rig
