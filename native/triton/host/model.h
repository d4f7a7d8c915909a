// A model version that a backend serves, and its instances, each with the one thread on which the backend's code for it runs.
#pragma once

#include <condition_variable>
#include <functional>
#include <latch>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backend.h"
#include "batcher.h"
#include "bridge.h"
#include "request_ledger.h"
#include "task_thread.h"

namespace npu_console::triton {

// What Start tells when it is over: the event to push, and whether it went well. Otherwise there is only taking down left to do.
using Started = std::function<void(EventPtr, bool is_initialized)>;

struct RemovalTimes {
  std::chrono::milliseconds report_every;
  std::chrono::milliseconds leak_grace;
};

struct ModelOptions {
  std::string directory, library, config_json, backend_config_json;
  bool auto_complete_config;
};

struct InstanceOptions {
  std::uint64_t token;
  std::string name;
  TRITONSERVER_InstanceGroupKind kind;
  std::int32_t device_id;
  bool is_passive;
  std::string host_policy;  // its name
  std::string host_policy_json;
  std::vector<std::string> profiles;
  std::vector<std::pair<std::string, std::int64_t>> secondary_devices;
  std::vector<std::uint32_t> processors;
};

}  // namespace npu_console::triton

struct TRITONBACKEND_ModelInstance {
  TRITONBACKEND_ModelInstance(TRITONBACKEND_Model* its_model, npu_console::triton::InstanceOptions its_options, npu_console::triton::EventQueuePtr events);
  // When its start failed or Finish is done, and not on its thread.
  ~TRITONBACKEND_ModelInstance();

  TRITONBACKEND_Model* const model;
  const npu_console::triton::InstanceOptions options;
  TRITONSERVER_Message host_policy;
  std::atomic<void*> state{nullptr};

  // On its thread: ModelInstanceInitialize, then `started`.
  void Start(npu_console::triton::Started started);
  TRITONSERVER_Error* Submit(std::uint64_t batch, const TritonHostRequest* requests, std::uint32_t count);
  void Cancel(std::uint64_t request) { ledger_->Cancel(request); }
  // Each hold makes Finish wait for one check, which may run on any thread.
  void HoldForCheck();
  npu_console::triton::ErrorPtr CheckReady(npu_console::triton::Event* answer);
  // Behind what was submitted: waits for what the backend holds, ModelInstanceFinalize. Then `done`, on its thread, with what that said.
  void Finish(std::function<void(npu_console::triton::ErrorPtr)> done);
  const std::shared_ptr<npu_console::triton::RequestLedger>& ledger() const { return ledger_; }

 private:
  void Execute(std::uint64_t batch, std::vector<TRITONBACKEND_Request*> requests);
  // Puts what the backend reports of the instance into the event.
  void Report(npu_console::triton::Event* event);
  npu_console::triton::ErrorPtr Finalize();

  const npu_console::triton::EventQueuePtr events_;
  const std::shared_ptr<npu_console::triton::RequestLedger> ledger_;
  std::mutex checks_mutex_;
  std::condition_variable checks_ended_;
  int checks_ = 0;
  // Of the thread: done when nothing of this instance runs there any more. Shared with that task, which outlives this.
  const std::shared_ptr<std::latch> last_task_ = std::make_shared<std::latch>(1);
  // Last: it uses all of the above. Other instances may share it (TRITONBACKEND_Model::ThreadOf).
  const std::shared_ptr<npu_console::triton::TaskThread> thread_;
};

struct TRITONBACKEND_Model {
  TRITONBACKEND_Model(
      std::shared_ptr<const npu_console::triton::ModelFacts> its_facts, npu_console::triton::ModelOptions its_options, npu_console::triton::Bridge* bridge_of_host,
      npu_console::triton::EventQueuePtr events, npu_console::triton::RemovalTimes removal_times);

  const std::shared_ptr<const npu_console::triton::ModelFacts> facts;
  const npu_console::triton::ModelOptions options;
  const npu_console::triton::EventQueuePtr events;
  const npu_console::triton::RemovalTimes removal_times;
  TRITONBACKEND_Backend* backend = nullptr;
  std::atomic<void*> state{nullptr};
  npu_console::triton::ModelBridge bridge;
  // Held while an instance initializes, unless the backend wants them in parallel.
  std::mutex initialize_mutex;

  // On its thread: opens the backend, ModelInitialize, then `started`.
  void Start(npu_console::triton::BackendLibraries* libraries, npu_console::triton::Started started);
  // The thread of a new instance. One for all of KIND_GPU on a device where the backend's execution policy is DEVICE_BLOCKING: so their batches run one at a time.
  std::shared_ptr<npu_console::triton::TaskThread> ThreadOf(const npu_console::triton::InstanceOptions& instance);
  // To the thread of the model's life cycle.
  void Post(npu_console::triton::TaskThread::Task task) { thread_.Post(std::move(task)); }
  // ModelFinalize, when nothing of the model is left.
  npu_console::triton::ErrorPtr Finalize();

  // On its thread: finds and initializes its batching library, then tells.
  void OpenBatcher(std::string library);
  // Null: it has none.
  std::shared_ptr<npu_console::triton::Batcher> batcher();

  std::string Config();
  TRITONSERVER_Error* SetConfig(std::string json);

 private:
  npu_console::triton::ErrorPtr Initialize(npu_console::triton::BackendLibraries* libraries);
  // Has the embedder decide about the instance groups that the backend prefers.
  npu_console::triton::ErrorPtr AskForInstanceGroups();

  std::mutex threads_mutex_;
  std::map<std::int32_t, std::weak_ptr<npu_console::triton::TaskThread>> device_threads_;
  std::mutex batcher_mutex_;
  std::shared_ptr<npu_console::triton::Batcher> batcher_;
  std::mutex config_mutex_;
  std::string config_;
  bool may_set_config_ = false;
  npu_console::triton::TaskThread thread_;  // last: it uses all of the above
};
