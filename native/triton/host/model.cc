#include "model.h"

#include <sstream>

#include "processors.h"

using npu_console::triton::ErrorPtr;
using npu_console::triton::EventPtr;
using npu_console::triton::InvalidArgument;
using npu_console::triton::MakeError;
using npu_console::triton::NewEvent;

namespace {

// What the backend said about itself, for the embedder.
std::string BackendFacts(const TRITONBACKEND_Backend& backend) {
  std::ostringstream json;
  json << R"({"library":)" << npu_console::triton::JsonString(backend.library) << R"(,"preferred_groups":[)";
  const char* group_separator = "";
  for (const auto& group : backend.attributes.preferred_groups) {
    json << group_separator << R"({"kind":"KIND_)" << TRITONSERVER_InstanceGroupKindString(group.kind) << R"(","count":)" << group.count << R"(,"gpus":[)";
    const char* device_separator = "";
    for (const std::uint64_t device : group.device_ids) {
      json << device_separator << device;
      device_separator = ",";
    }
    json << "]}";
    group_separator = ",";
  }
  json << R"(],"parallel_model_instance_loading":)" << (backend.attributes.loads_instances_in_parallel ? "true" : "false") << R"(,"execution_policy":)"
       << static_cast<int>(backend.execution_policy.load()) << "}";
  return json.str();
}

}  // namespace

TRITONBACKEND_ModelInstance::TRITONBACKEND_ModelInstance(
    TRITONBACKEND_Model* its_model, npu_console::triton::InstanceOptions its_options, npu_console::triton::EventQueuePtr events)
    : model(its_model),
      options(std::move(its_options)),
      host_policy{options.host_policy_json},
      events_(std::move(events)),
      ledger_(std::make_shared<npu_console::triton::RequestLedger>(model->facts, options.token, events_)),
      thread_(model->ThreadOf(options)) {}

// A thread that others share is not joined, and may just be leaving the last task of this one.
TRITONBACKEND_ModelInstance::~TRITONBACKEND_ModelInstance() { last_task_->wait(); }

void TRITONBACKEND_ModelInstance::Start(npu_console::triton::Started started) {
  thread_->Post([this, started = std::move(started), last_task = last_task_] {
    // Before the backend makes threads of its own: they inherit it.
    ErrorPtr error = npu_console::triton::BindCurrentThread(options.processors, options.host_policy);
    const bool is_bound = error == nullptr;
    if (is_bound && model->backend->entry.instance_initialize != nullptr) {
      std::unique_lock<std::mutex> one_at_a_time(model->initialize_mutex, std::defer_lock);
      if (!model->backend->attributes.loads_instances_in_parallel) one_at_a_time.lock();
      error = model->backend->Call("TRITONBACKEND_ModelInstanceInitialize", [this] { return model->backend->entry.instance_initialize(this); });
    }
    EventPtr event = NewEvent(TRITONHOST_EVENT_INSTANCE_INITIALIZED);
    event->Token(options.token).Model(model->facts->token).Error(error.get());
    if (error == nullptr) {
      Report(event.get());
    } else if (is_bound) {
      // Triton finalizes what did not initialize, too: a backend frees there what it had made until it failed.
      const ErrorPtr failure = Finalize();
      if (failure != nullptr) events_->Log(TRITONSERVER_LOG_ERROR, __FILE__, __LINE__, "instance '" + options.name + "' failed to finalize: " + failure->message);
    }
    started(std::move(event), error == nullptr);
    if (error != nullptr) last_task->count_down();
  });
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstance::Submit(std::uint64_t batch, const TritonHostRequest* requests, std::uint32_t count) {
  std::vector<TRITONBACKEND_Request*> added;
  if (TRITONSERVER_Error* error = ledger_->Add(requests, count, &added)) return error;
  thread_->Post([this, batch, added = std::move(added)] { Execute(batch, added); });
  return nullptr;
}

void TRITONBACKEND_ModelInstance::Execute(std::uint64_t batch, std::vector<TRITONBACKEND_Request*> requests) {
  std::vector<std::uint64_t> tokens;
  for (const TRITONBACKEND_Request* request : requests) tokens.push_back(request->token);
  EventPtr event = NewEvent(TRITONHOST_EVENT_BATCH_EXECUTED);
  event->Token(batch).Model(model->facts->token).Instance(options.token);
  {
    const npu_console::triton::BatchScope scope;
    const ErrorPtr error = model->backend->Call("TRITONBACKEND_ModelInstanceExecute", [&] {
      return model->backend->entry.instance_execute(this, requests.data(), static_cast<std::uint32_t>(requests.size()));
    });
    if (error != nullptr) ledger_->FailBatch(tokens, *error);
    event->Error(error.get());
  }
  events_->Push(std::move(event));
}

void TRITONBACKEND_ModelInstance::HoldForCheck() {
  const std::lock_guard lock(checks_mutex_);
  ++checks_;
}

void TRITONBACKEND_ModelInstance::Report(npu_console::triton::Event* event) {
  if (model->backend->entry.instance_report == nullptr) return;
  const ErrorPtr failure = model->backend->Call("NPUCONSOLE_ModelInstanceReport", [this, event] {
    const char* const report = model->backend->entry.instance_report(this);
    event->has_detail = report != nullptr;
    if (report != nullptr) event->detail_text = report;
    return nullptr;
  });
  if (failure != nullptr) events_->Log(TRITONSERVER_LOG_ERROR, __FILE__, __LINE__, failure->message);
}

ErrorPtr TRITONBACKEND_ModelInstance::CheckReady(npu_console::triton::Event* answer) {
  ErrorPtr error;
  if (model->backend->entry.instance_ready != nullptr) {
    error = model->backend->Call("TRITONBACKEND_ModelInstanceReady", [this] { return model->backend->entry.instance_ready(this); });
  }
  Report(answer);
  const std::lock_guard lock(checks_mutex_);
  --checks_;
  checks_ended_.notify_all();
  return error;
}

void TRITONBACKEND_ModelInstance::Finish(std::function<void(ErrorPtr)> done) {
  thread_->Post([this, done = std::move(done), last_task = last_task_] {
    ledger_->WaitUntilSettled(model->removal_times.report_every, model->removal_times.leak_grace, options.name);
    {
      std::unique_lock lock(checks_mutex_);
      checks_ended_.wait(lock, [this] { return checks_ == 0; });
    }
    done(Finalize());
    last_task->count_down();
  });
}

ErrorPtr TRITONBACKEND_ModelInstance::Finalize() {
  if (model->backend->entry.instance_finalize == nullptr) return nullptr;
  return model->backend->Call("TRITONBACKEND_ModelInstanceFinalize", [this] { return model->backend->entry.instance_finalize(this); });
}

TRITONBACKEND_Model::TRITONBACKEND_Model(
    std::shared_ptr<const npu_console::triton::ModelFacts> its_facts, npu_console::triton::ModelOptions its_options, npu_console::triton::Bridge* bridge_of_host,
    npu_console::triton::EventQueuePtr its_events, npu_console::triton::RemovalTimes its_removal_times)
    : facts(std::move(its_facts)),
      options(std::move(its_options)),
      events(std::move(its_events)),
      removal_times(its_removal_times),
      bridge(bridge_of_host, facts->token, facts->name),
      config_(options.config_json),
      thread_(facts->name, events, facts->token) {}

std::shared_ptr<npu_console::triton::TaskThread> TRITONBACKEND_Model::ThreadOf(const npu_console::triton::InstanceOptions& instance) {
  const auto start = [&] { return std::make_shared<npu_console::triton::TaskThread>(instance.name, events, facts->token); };
  if (instance.kind != TRITONSERVER_INSTANCEGROUPKIND_GPU || backend->execution_policy != TRITONBACKEND_EXECUTION_DEVICE_BLOCKING) return start();
  const std::lock_guard lock(threads_mutex_);
  std::weak_ptr<npu_console::triton::TaskThread>& known = device_threads_[instance.device_id];
  std::shared_ptr<npu_console::triton::TaskThread> thread = known.lock();
  if (thread == nullptr) known = thread = start();
  return thread;
}

void TRITONBACKEND_Model::Start(npu_console::triton::BackendLibraries* libraries, npu_console::triton::Started started) {
  thread_.Post([this, libraries, started = std::move(started)] {
    const ErrorPtr error = Initialize(libraries);
    EventPtr event = NewEvent(TRITONHOST_EVENT_MODEL_INITIALIZED);
    event->Token(facts->token).Model(facts->token).Error(error.get());
    if (error != nullptr) {
      bridge.WaitUntilSettled(removal_times.report_every);
      const ErrorPtr failure = Finalize();
      if (failure != nullptr) events->Log(TRITONSERVER_LOG_ERROR, __FILE__, __LINE__, "model '" + facts->name + "' failed to finalize: " + failure->message);
    } else {
      event->Text(Config());
      event->has_detail = true;
      event->detail_text = BackendFacts(*backend);
    }
    started(std::move(event), error == nullptr);
  });
}

ErrorPtr TRITONBACKEND_Model::Initialize(npu_console::triton::BackendLibraries* libraries) {
  if (ErrorPtr error = libraries->Open(facts->backend, options.library, options.directory, static_cast<std::uint64_t>(facts->version), options.backend_config_json, &backend)) {
    return error;
  }
  if (ErrorPtr error = AskForInstanceGroups()) return error;
  if (backend->entry.model_initialize == nullptr) return nullptr;
  const auto allow = [this](bool may_set) {
    const std::lock_guard lock(config_mutex_);
    may_set_config_ = may_set;
  };
  allow(true);
  ErrorPtr error = backend->Call("TRITONBACKEND_ModelInitialize", [this] { return backend->entry.model_initialize(this); });
  allow(false);
  return error;
}

ErrorPtr TRITONBACKEND_Model::AskForInstanceGroups() {
  if (backend->attributes.preferred_groups.empty()) return nullptr;
  EventPtr event = NewEvent(TRITONHOST_EVENT_QUESTION);
  event->Model(facts->token);
  event->question = TRITONHOST_QUESTION_INSTANCE_GROUPS;
  event->Text(Config());
  event->has_detail = true;
  event->detail_text = BackendFacts(*backend);
  auto answer = bridge.bridge().Ask(std::move(event));
  if (answer.error != nullptr) return std::move(answer.error);
  if (!npu_console::triton::IsJson(answer.text)) {
    return ErrorPtr(MakeError(TRITONSERVER_ERROR_INTERNAL, "the config of model '" + facts->name + "' with the instance groups that its backend prefers is not JSON"));
  }
  const std::lock_guard lock(config_mutex_);
  config_ = std::move(answer.text);
  return nullptr;
}

void TRITONBACKEND_Model::OpenBatcher(std::string library) {
  thread_.Post([this, library = std::move(library)] {
    std::shared_ptr<npu_console::triton::Batcher> opened;
    const ErrorPtr error = batcher() == nullptr ? npu_console::triton::Batcher::Open(this, library, &opened)
                                                : ErrorPtr(InvalidArgument("model '" + facts->name + "' has its batching library already"));
    EventPtr event = NewEvent(TRITONHOST_EVENT_BATCHER_OPENED);
    event->Token(facts->token).Model(facts->token).Error(error.get());
    if (opened != nullptr) event->Text(opened->library());
    if (opened != nullptr) {
      const std::lock_guard lock(batcher_mutex_);
      batcher_ = std::move(opened);
    }
    events->Push(std::move(event));
  });
}

std::shared_ptr<npu_console::triton::Batcher> TRITONBACKEND_Model::batcher() {
  const std::lock_guard lock(batcher_mutex_);
  return batcher_;
}

ErrorPtr TRITONBACKEND_Model::Finalize() {
  if (const auto ended = batcher()) {
    const ErrorPtr error = ended->Close();
    if (error != nullptr) events->Log(TRITONSERVER_LOG_ERROR, __FILE__, __LINE__, "model '" + facts->name + "': its batching library failed to finalize: " + error->message);
  }
  if (backend == nullptr || backend->entry.model_finalize == nullptr) return nullptr;
  return backend->Call("TRITONBACKEND_ModelFinalize", [this] { return backend->entry.model_finalize(this); });
}

std::string TRITONBACKEND_Model::Config() {
  const std::lock_guard lock(config_mutex_);
  return config_;
}

TRITONSERVER_Error* TRITONBACKEND_Model::SetConfig(std::string json) {
  const std::lock_guard lock(config_mutex_);
  if (!may_set_config_) {
    return MakeError(TRITONSERVER_ERROR_UNSUPPORTED, "the config of model '" + facts->name + "' can be set in TRITONBACKEND_ModelInitialize only");
  }
  config_ = std::move(json);
  return nullptr;
}
