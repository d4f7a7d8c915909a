#include "host_state.h"

using namespace npu_console::triton;  // NOLINT: TritonHost is declared outside of it, as host.h names it

namespace npu_console::triton {

std::string TextOr(const char* text, const char* otherwise) { return text == nullptr ? otherwise : text; }

std::vector<std::string> Texts(const char* const* texts, std::uint32_t count) { return {texts, texts + count}; }

namespace {

TRITONSERVER_Error* NoSuch(const char* what, std::uint64_t token) {
  return MakeError(TRITONSERVER_ERROR_NOT_FOUND, std::string("no ") + what + " has the token " + std::to_string(token));
}

}  // namespace

}  // namespace npu_console::triton

TritonHost::TritonHost(const TritonHostOptions& options)
    : events(std::make_shared<EventQueue>(options.notify, options.notify_context, options.log_levels)),
      libraries(Texts(options.backend_directories, options.backend_directory_count), events),
      bridge(events),
      removal_times{std::chrono::milliseconds(options.unload_report_ms == 0 ? 5'000 : options.unload_report_ms),
                    std::chrono::milliseconds(options.leak_grace_ms == 0 ? 30'000 : options.leak_grace_ms)},
      reaper("triton reaper", events) {}

TRITONSERVER_Error* TritonHost::RequireOpen() const { return is_closing ? MakeError(TRITONSERVER_ERROR_UNAVAILABLE, "the host is being deleted") : nullptr; }

TRITONSERVER_Error* TritonHost::FindModel(std::uint64_t token, ModelEntry** entry) {
  const auto found = models.find(token);
  if (found == models.end() || !found->second.is_initialized || found->second.is_unloading) return NoSuch("initialized model", token);
  *entry = &found->second;
  return nullptr;
}

TRITONSERVER_Error* TritonHost::FindInstance(std::uint64_t token, InstanceEntry** entry) {
  const auto found = instances.find(token);
  if (found == instances.end() || !found->second.is_initialized || found->second.is_removing) return NoSuch("initialized instance", token);
  *entry = &found->second;
  return nullptr;
}

TRITONSERVER_Error* TritonHost::CancelRequest(std::uint64_t instance, std::uint64_t request) {
  const std::lock_guard lock(mutex);
  const auto found = instances.find(instance);
  if (found == instances.end() || found->second.instance == nullptr) return NoSuch("instance", instance);
  found->second.instance->Cancel(request);
  return nullptr;
}

TRITONSERVER_Error* TritonHost::FindBatcher(std::uint64_t model, std::shared_ptr<Batcher>* batcher) {
  const std::lock_guard lock(mutex);
  const auto found = models.find(model);
  if (found != models.end() && found->second.model != nullptr) *batcher = found->second.model->batcher();
  return *batcher == nullptr ? NoSuch("model with a batching library", model) : nullptr;
}

TRITONSERVER_Error* TritonHost::LoadModel(const TritonHostModelOptions& options) {
  const std::string backend_config = TextOr(options.backend_config_json, R"({"cmdline":{}})");
  if (!IsJson(options.config_json)) return InvalidArgument(std::string("the config of model '") + options.name + "' is not JSON");
  if (!IsJson(backend_config)) return InvalidArgument(std::string("the backend config of '") + options.backend + "' is not JSON");

  const std::lock_guard lock(mutex);
  if (TRITONSERVER_Error* error = RequireOpen()) return error;
  const std::uint64_t token = options.token;
  if (token == 0 || models.contains(token)) {
    return InvalidArgument("model token " + std::to_string(token) + " is 0 or in use: take another, or wait until that model is unloaded");
  }
  auto facts = std::make_shared<ModelFacts>(ModelFacts{
      token, options.name, static_cast<std::int64_t>(options.version), options.backend, options.may_reschedule,
      Texts(options.outputs, options.output_count), Texts(options.states, options.state_count)});
  auto model = std::make_unique<TRITONBACKEND_Model>(
      std::move(facts), ModelOptions{options.directory, TextOr(options.library, ""), options.config_json, backend_config, options.auto_complete_config}, &bridge, events,
      removal_times);
  ModelEntry& entry = models[token];
  entry.model = std::move(model);
  entry.model->Start(&libraries, [this, token](EventPtr event, bool is_initialized) {
    if (!is_initialized) {
      ReapModel(token, std::move(event));
      return;
    }
    {
      const std::lock_guard started(mutex);
      models.at(token).is_initialized = true;
    }
    events->Push(std::move(event));
  });
  return nullptr;
}

TRITONSERVER_Error* TritonHost::UnloadModel(std::uint64_t model) {
  const std::lock_guard lock(mutex);
  const auto found = models.find(model);
  if (found == models.end() || found->second.is_unloading || found->second.model == nullptr) return NoSuch("model", model);
  StartUnload(found->second);
  return nullptr;
}

TRITONSERVER_Error* TritonHost::AddInstance(const TritonHostInstanceOptions& options) {
  const std::string host_policy = TextOr(options.host_policy_json, "{}");
  if (!IsJson(host_policy)) return InvalidArgument(std::string("the host policy of instance '") + options.name + "' is not JSON");

  std::vector<std::pair<std::string, std::int64_t>> secondary_devices;
  for (std::uint32_t index = 0; index < options.secondary_count; ++index) secondary_devices.emplace_back(options.secondary_kinds[index], options.secondary_ids[index]);

  const std::lock_guard lock(mutex);
  if (TRITONSERVER_Error* error = RequireOpen()) return error;
  ModelEntry* model = nullptr;
  if (TRITONSERVER_Error* error = FindModel(options.model, &model)) return error;
  const std::uint64_t token = options.token;
  if (token == 0 || instances.contains(token)) {
    return InvalidArgument("instance token " + std::to_string(token) + " is 0 or in use: take another, or wait until that instance is removed");
  }
  auto instance = std::make_unique<TRITONBACKEND_ModelInstance>(
      model->model.get(),
      InstanceOptions{token, options.name, options.kind, options.device_id, options.is_passive, TextOr(options.host_policy, ""), host_policy, Texts(options.profiles, options.profile_count),
                      std::move(secondary_devices), {options.processors, options.processors + options.processor_count}},
      events);
  InstanceEntry& entry = instances[token];
  entry.model = options.model;
  entry.instance = std::move(instance);
  entry.instance->Start([this, token](EventPtr event, bool is_initialized) {
    if (!is_initialized) {
      ReapInstance(token, std::move(event));
      return;
    }
    {
      const std::lock_guard started(mutex);
      instances.at(token).is_initialized = true;
      changed.notify_all();
    }
    events->Push(std::move(event));
  });
  return nullptr;
}

TRITONSERVER_Error* TritonHost::RemoveInstance(std::uint64_t instance) {
  const std::lock_guard lock(mutex);
  InstanceEntry* entry = nullptr;
  if (TRITONSERVER_Error* error = FindInstance(instance, &entry)) return error;
  StartRemoval(*entry);
  return nullptr;
}

TRITONSERVER_Error* TritonHost::CheckInstance(std::uint64_t instance) {
  const std::lock_guard lock(mutex);
  InstanceEntry* entry = nullptr;
  if (TRITONSERVER_Error* error = FindInstance(instance, &entry)) return error;
  // On the model's thread, which is idle while it serves: that of the instance may be busy with a batch. The answer comes late where it is removed meanwhile.
  TRITONBACKEND_Model* const model = entry->instance->model;
  model->Post([this, model, instance] {
    EventPtr event = NewEvent(TRITONHOST_EVENT_INSTANCE_READINESS);
    event->Token(instance).Model(model->facts->token);
    TRITONBACKEND_ModelInstance* asked = nullptr;
    {
      const std::lock_guard held(mutex);
      const auto still = instances.find(instance);
      if (still != instances.end() && !still->second.is_removing) asked = still->second.instance.get();
      if (asked != nullptr) asked->HoldForCheck();
    }
    ErrorPtr error;
    if (asked == nullptr) {
      error.reset(MakeError(TRITONSERVER_ERROR_UNAVAILABLE, "instance is being removed"));
    } else {
      error = asked->CheckReady(event.get());
    }
    event->Error(error.get());
    events->Push(std::move(event));
  });
  return nullptr;
}

TRITONSERVER_Error* TritonHost::Close(std::uint32_t timeout_ms) {
  if (is_closed) return nullptr;
  bridge.Close();
  {
    std::unique_lock lock(mutex);
    is_closing = true;
    for (auto& [token, entry] : models) {
      if (!entry.is_unloading && entry.model != nullptr) StartUnload(entry);
    }
    if (!changed.wait_for(lock, std::chrono::milliseconds(timeout_ms), [&] { return models.empty(); })) {
      std::string names;
      for (const auto& [token, entry] : models) {
        if (entry.model != nullptr) names += (names.empty() ? "'" : ", '") + entry.model->facts->name + "'";
      }
      lock.unlock();
      events->Close();
      return MakeError(
          TRITONSERVER_ERROR_UNAVAILABLE, "backends did not let go of models " + names + " within " + std::to_string(timeout_ms) + " ms: their threads go on until the process exits");
    }
  }
  reaper.Join();
  {
    // TRITONBACKEND_Finalize on the calling thread may log.
    const OnEmbedderThread scope(events, 0);
    libraries.CloseAll();
  }
  events->Close();
  is_closed = true;
  return nullptr;
}

void TritonHost::StartRemoval(InstanceEntry& entry) {
  entry.is_removing = true;
  TRITONBACKEND_ModelInstance* const instance = entry.instance.get();
  instance->Finish([this, instance](ErrorPtr error) {
    EventPtr event = NewEvent(TRITONHOST_EVENT_INSTANCE_REMOVED);
    event->Token(instance->options.token).Model(instance->model->facts->token).Error(error.get());
    ReapInstance(instance->options.token, std::move(event));
  });
}

bool TritonHost::HasInstances(std::uint64_t model) const {
  for (const auto& [token, entry] : instances) {
    if (entry.model == model) return true;
  }
  return false;
}

void TritonHost::StartUnload(ModelEntry& entry) {
  entry.is_unloading = true;
  TRITONBACKEND_Model* const model = entry.model.get();
  model->Post([this, model] {
    const std::uint64_t token = model->facts->token;
    {
      std::unique_lock lock(mutex);
      // It may have failed to initialize meanwhile: then it is being taken down already.
      if (!models.at(token).is_initialized) return;
      changed.wait(lock, [&] {
        // Those that were still initializing are removed when they are done.
        for (auto& [instance_token, instance] : instances) {
          if (instance.model == token && instance.instance != nullptr && instance.is_initialized && !instance.is_removing) StartRemoval(instance);
        }
        return !HasInstances(token);
      });
    }
    model->bridge.WaitUntilSettled(removal_times.report_every);
    const ErrorPtr error = model->Finalize();
    EventPtr event = NewEvent(TRITONHOST_EVENT_MODEL_UNLOADED);
    event->Token(token).Model(token).Error(error.get());
    ReapModel(token, std::move(event));
  });
}

void TritonHost::ReapInstance(std::uint64_t token, EventPtr event) {
  reaper.Post([this, token, event = std::make_shared<EventPtr>(std::move(event))] {
    std::unique_ptr<TRITONBACKEND_ModelInstance> ended;
    {
      const std::lock_guard lock(mutex);
      ended = std::move(instances.at(token).instance);
    }
    const std::shared_ptr<RequestLedger> ledger = ended->ledger();
    ended.reset();
    {
      const std::lock_guard lock(mutex);
      if (ledger->HasLeaks()) leaked_ledgers.push_back(ledger);
      instances.erase(token);
      changed.notify_all();
    }
    // Whoever reads this may use the token again.
    events->Push(std::move(*event));
  });
}

void TritonHost::ReapModel(std::uint64_t token, EventPtr event) {
  reaper.Post([this, token, event = std::make_shared<EventPtr>(std::move(event))] {
    std::unique_ptr<TRITONBACKEND_Model> ended;
    {
      const std::lock_guard lock(mutex);
      ended = std::move(models.at(token).model);
    }
    ended.reset();
    {
      const std::lock_guard lock(mutex);
      models.erase(token);
      changed.notify_all();
    }
    events->Push(std::move(*event));
  });
}
