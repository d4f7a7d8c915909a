// The C interface of host.h: keeps the tables of models and instances, and takes down what ended.
#include "host.h"

#include <condition_variable>
#include <cstring>
#include <map>
#include <set>

#include "metrics.h"
#include "model.h"

using namespace npu_console::triton;  // NOLINT: this file is the seam between C and C++

namespace {

struct InstanceEntry {
  std::uint64_t model;
  std::unique_ptr<TRITONBACKEND_ModelInstance> instance;
  bool is_initialized = false;
  bool is_removing = false;
};

struct ModelEntry {
  std::unique_ptr<TRITONBACKEND_Model> model;
  bool is_initialized = false;
  bool is_unloading = false;
};

std::string TextOr(const char* text, const char* otherwise) { return text == nullptr ? otherwise : text; }

std::vector<std::string> Texts(const char* const* texts, std::uint32_t count) { return {texts, texts + count}; }

TRITONSERVER_Error* NoSuch(const char* what, std::uint64_t token) {
  return MakeError(TRITONSERVER_ERROR_NOT_FOUND, std::string("no ") + what + " has the token " + std::to_string(token));
}

// Runs the body of a call. No exception crosses into the embedder's C.
template <class Body>
TRITONSERVER_Error* Contained(Body body, TRITONSERVER_Error_Code code = TRITONSERVER_ERROR_UNAVAILABLE) {
  try {
    return body();
  } catch (const std::exception& exception) {
    return MakeError(code, std::string("the machine has no memory or thread left for this (") + exception.what() + "): load fewer models, or give the machine more");
  }
}

}  // namespace

struct TritonHostMemory {
  const std::shared_ptr<void> memory;
};

struct TritonHost {
  explicit TritonHost(const TritonHostOptions& options)
      : events(std::make_shared<EventQueue>(options.notify, options.notify_context, options.log_levels)),
        libraries(Texts(options.backend_directories, options.backend_directory_count), events),
        bridge(events),
        removal_times{std::chrono::milliseconds(options.unload_report_ms == 0 ? 5'000 : options.unload_report_ms),
                      std::chrono::milliseconds(options.leak_grace_ms == 0 ? 30'000 : options.leak_grace_ms)},
        reaper("triton reaper", events) {}

  EventQueuePtr events;
  BackendLibraries libraries;
  Bridge bridge;
  RemovalTimes removal_times;

  std::mutex mutex;
  std::condition_variable changed;
  bool is_closing = false;
  bool is_closed = false;
  std::map<std::uint64_t, ModelEntry> models;
  std::map<std::uint64_t, InstanceEntry> instances;
  // Of instances that ended while the backend still held pointers into them.
  std::vector<std::shared_ptr<RequestLedger>> leaked_ledgers;

  // Joins the threads of what ended, which those cannot do themselves. Last: it uses all of the above.
  TaskThread reaper;

  // Starts the removal; the lock is held.
  void RemoveInstance(InstanceEntry& entry) {
    entry.is_removing = true;
    TRITONBACKEND_ModelInstance* const instance = entry.instance.get();
    instance->Finish([this, instance](ErrorPtr error) {
      EventPtr event = NewEvent(TRITONHOST_EVENT_INSTANCE_REMOVED);
      event->Token(instance->options.token).Model(instance->model->facts->token).Error(error.get());
      ReapInstance(instance->options.token, std::move(event));
    });
  }

  void ReapInstance(std::uint64_t token, EventPtr event) {
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

  void ReapModel(std::uint64_t token, EventPtr event) {
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

  bool HasInstances(std::uint64_t model) const {
    for (const auto& [token, entry] : instances) {
      if (entry.model == model) return true;
    }
    return false;
  }

  // The lock is held.
  void UnloadModel(ModelEntry& entry) {
    entry.is_unloading = true;
    TRITONBACKEND_Model* const model = entry.model.get();
    model->Post([this, model] {
      const std::uint64_t token = model->facts->token;
      {
        std::unique_lock lock(mutex);
        // It may have failed to initialize meanwhile: then it is being taken down already.
        if (!models.at(token).is_initialized) return;
        for (auto& [instance_token, instance] : instances) {
          if (instance.model == token && instance.instance != nullptr && instance.is_initialized && !instance.is_removing) RemoveInstance(instance);
        }
        changed.wait(lock, [&] {
          // Those that were still initializing are removed when they are done.
          for (auto& [instance_token, instance] : instances) {
            if (instance.model == token && instance.instance != nullptr && instance.is_initialized && !instance.is_removing) RemoveInstance(instance);
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
};

#define HOST_REQUIRE_OPEN(host) \
  if ((host)->is_closing) return MakeError(TRITONSERVER_ERROR_UNAVAILABLE, "the host is being deleted")

TRITONSERVER_Error* tritonhost_new(const TritonHostOptions* options, TritonHost** host) {
  TRITONHOST_REQUIRE(options);
  TRITONHOST_REQUIRE(host);
  return Contained([&]() -> TRITONSERVER_Error* {
    *host = new TritonHost(*options);
    RegisterEventQueue((*host)->events);
    return nullptr;
  });
}

TRITONSERVER_Error* tritonhost_close(TritonHost* host, uint32_t timeout_ms) {
  TRITONHOST_REQUIRE(host);
  if (host->is_closed) return nullptr;
  host->bridge.Close();
  {
    std::unique_lock lock(host->mutex);
    host->is_closing = true;
    for (auto& [token, entry] : host->models) {
      if (!entry.is_unloading && entry.model != nullptr) host->UnloadModel(entry);
    }
    if (!host->changed.wait_for(lock, std::chrono::milliseconds(timeout_ms), [&] { return host->models.empty(); })) {
      std::string names;
      for (const auto& [token, entry] : host->models) {
        if (entry.model != nullptr) names += (names.empty() ? "'" : ", '") + entry.model->facts->name + "'";
      }
      lock.unlock();
      host->events->Close();
      return MakeError(
          TRITONSERVER_ERROR_UNAVAILABLE, "backends did not let go of models " + names + " within " + std::to_string(timeout_ms) + " ms: their threads go on until the process exits");
    }
  }
  host->reaper.Join();
  {
    // TRITONBACKEND_Finalize on the calling thread may log.
    const OnEmbedderThread scope(host->events, 0);
    host->libraries.CloseAll();
  }
  host->events->Close();
  host->is_closed = true;
  return nullptr;
}

TRITONSERVER_Error* tritonhost_delete(TritonHost* host, uint32_t timeout_ms) {
  if (TRITONSERVER_Error* error = tritonhost_close(host, timeout_ms)) return error;
  delete host;
  return nullptr;
}

void tritonhost_set_log_levels(TritonHost* host, uint32_t log_levels) { host->events->SetLogLevels(log_levels); }

char* tritonhost_metrics_text() { return strdup(MetricRegistry::Instance().PrometheusText().c_str()); }

void tritonhost_text_free(char* text) { std::free(text); }

namespace {

TRITONSERVER_Error* LoadModel(TritonHost* host, const TritonHostModelOptions* options) {
  const std::string backend_config = TextOr(options->backend_config_json, R"({"cmdline":{}})");
  if (!IsJson(options->config_json)) return InvalidArgument(std::string("the config of model '") + options->name + "' is not JSON");
  if (!IsJson(backend_config)) return InvalidArgument(std::string("the backend config of '") + options->backend + "' is not JSON");

  const std::lock_guard lock(host->mutex);
  HOST_REQUIRE_OPEN(host);
  if (options->token == 0 || host->models.contains(options->token)) {
    return InvalidArgument("model token " + std::to_string(options->token) + " is 0 or in use: take another, or wait until that model is unloaded");
  }
  auto facts = std::make_shared<ModelFacts>(ModelFacts{
      options->token, options->name, static_cast<std::int64_t>(options->version), options->backend, options->may_reschedule,
      Texts(options->outputs, options->output_count), Texts(options->states, options->state_count)});
  auto model = std::make_unique<TRITONBACKEND_Model>(
      std::move(facts), ModelOptions{options->directory, TextOr(options->library, ""), options->config_json, backend_config, options->auto_complete_config}, &host->bridge,
      host->events, host->removal_times);
  const std::uint64_t token = options->token;
  ModelEntry& entry = host->models[token];
  entry.model = std::move(model);
  entry.model->Start(
      &host->libraries,
      [host, token](EventPtr event, bool is_initialized) {
        if (!is_initialized) {
          host->ReapModel(token, std::move(event));
          return;
        }
        {
          const std::lock_guard started(host->mutex);
          host->models.at(token).is_initialized = true;
        }
        host->events->Push(std::move(event));
      });
  return nullptr;
}

}  // namespace

TRITONSERVER_Error* tritonhost_load_model(TritonHost* host, const TritonHostModelOptions* options) {
  TRITONHOST_REQUIRE(host);
  TRITONHOST_REQUIRE(options);
  TRITONHOST_REQUIRE(options->name);
  TRITONHOST_REQUIRE(options->directory);
  TRITONHOST_REQUIRE(options->backend);
  TRITONHOST_REQUIRE(options->config_json);
  return Contained([&] { return LoadModel(host, options); });
}

TRITONSERVER_Error* tritonhost_unload_model(TritonHost* host, uint64_t model) {
  TRITONHOST_REQUIRE(host);
  const std::lock_guard lock(host->mutex);
  const auto found = host->models.find(model);
  if (found == host->models.end() || found->second.is_unloading || found->second.model == nullptr) return NoSuch("model", model);
  host->UnloadModel(found->second);
  return nullptr;
}

namespace {

TRITONSERVER_Error* AddInstance(TritonHost* host, const TritonHostInstanceOptions* options) {
  const std::string host_policy = TextOr(options->host_policy_json, "{}");
  if (!IsJson(host_policy)) return InvalidArgument(std::string("the host policy of instance '") + options->name + "' is not JSON");

  std::vector<std::pair<std::string, std::int64_t>> secondary_devices;
  for (std::uint32_t index = 0; index < options->secondary_count; ++index) secondary_devices.emplace_back(options->secondary_kinds[index], options->secondary_ids[index]);

  const std::lock_guard lock(host->mutex);
  HOST_REQUIRE_OPEN(host);
  const auto model = host->models.find(options->model);
  if (model == host->models.end() || !model->second.is_initialized || model->second.is_unloading) return NoSuch("initialized model", options->model);
  if (options->token == 0 || host->instances.contains(options->token)) {
    return InvalidArgument("instance token " + std::to_string(options->token) + " is 0 or in use: take another, or wait until that instance is removed");
  }
  auto instance = std::make_unique<TRITONBACKEND_ModelInstance>(
      model->second.model.get(),
      InstanceOptions{options->token, options->name, options->kind, options->device_id, options->is_passive, TextOr(options->host_policy, ""), host_policy,
                      Texts(options->profiles, options->profile_count), std::move(secondary_devices), {options->processors, options->processors + options->processor_count}},
      host->events);
  const std::uint64_t token = options->token;
  InstanceEntry& entry = host->instances[token];
  entry.model = options->model;
  entry.instance = std::move(instance);
  entry.instance->Start([host, token](EventPtr event, bool is_initialized) {
    if (!is_initialized) {
      host->ReapInstance(token, std::move(event));
      return;
    }
    {
      const std::lock_guard started(host->mutex);
      host->instances.at(token).is_initialized = true;
      host->changed.notify_all();
    }
    host->events->Push(std::move(event));
  });
  return nullptr;
}

}  // namespace

TRITONSERVER_Error* tritonhost_add_instance(TritonHost* host, const TritonHostInstanceOptions* options) {
  TRITONHOST_REQUIRE(host);
  TRITONHOST_REQUIRE(options);
  TRITONHOST_REQUIRE(options->name);
  return Contained([&] { return AddInstance(host, options); });
}

TRITONSERVER_Error* tritonhost_remove_instance(TritonHost* host, uint64_t instance) {
  TRITONHOST_REQUIRE(host);
  const std::lock_guard lock(host->mutex);
  const auto found = host->instances.find(instance);
  if (found == host->instances.end() || !found->second.is_initialized || found->second.is_removing) return NoSuch("initialized instance", instance);
  host->RemoveInstance(found->second);
  return nullptr;
}

TRITONSERVER_Error* tritonhost_check_instance(TritonHost* host, uint64_t instance) {
  TRITONHOST_REQUIRE(host);
  const std::lock_guard lock(host->mutex);
  const auto found = host->instances.find(instance);
  if (found == host->instances.end() || !found->second.is_initialized || found->second.is_removing) return NoSuch("initialized instance", instance);
  // On the model's thread, which is idle while it serves: that of the instance may be busy with a batch. The answer comes late where it is removed meanwhile.
  TRITONBACKEND_Model* const model = found->second.instance->model;
  model->Post([host, model, instance] {
    EventPtr event = NewEvent(TRITONHOST_EVENT_INSTANCE_READINESS);
    event->Token(instance).Model(model->facts->token);
    TRITONBACKEND_ModelInstance* asked = nullptr;
    {
      const std::lock_guard held(host->mutex);
      const auto still = host->instances.find(instance);
      if (still != host->instances.end() && !still->second.is_removing) asked = still->second.instance.get();
      if (asked != nullptr) asked->HoldForCheck();
    }
    ErrorPtr error;
    if (asked == nullptr) {
      error.reset(MakeError(TRITONSERVER_ERROR_UNAVAILABLE, "instance is being removed"));
    } else {
      error = asked->CheckReady(event.get());
    }
    event->Error(error.get());
    host->events->Push(std::move(event));
  });
  return nullptr;
}

TRITONSERVER_Error* tritonhost_submit(TritonHost* host, uint64_t instance, uint64_t batch, const TritonHostRequest* requests, uint32_t request_count) {
  TRITONHOST_REQUIRE(host);
  TRITONHOST_REQUIRE(requests);
  if (request_count == 0) return InvalidArgument("a batch has at least one request");
  const std::lock_guard lock(host->mutex);
  HOST_REQUIRE_OPEN(host);
  const auto found = host->instances.find(instance);
  if (found == host->instances.end() || !found->second.is_initialized || found->second.is_removing) return NoSuch("initialized instance", instance);
  return Contained([&] { return found->second.instance->Submit(batch, requests, request_count); });
}

TRITONSERVER_Error* tritonhost_cancel(TritonHost* host, uint64_t instance, uint64_t request) {
  TRITONHOST_REQUIRE(host);
  const std::lock_guard lock(host->mutex);
  const auto found = host->instances.find(instance);
  if (found == host->instances.end() || found->second.instance == nullptr) return NoSuch("instance", instance);
  found->second.instance->Cancel(request);
  return nullptr;
}

namespace {

TRITONSERVER_Error* FindBatcher(TritonHost* host, std::uint64_t model, std::shared_ptr<Batcher>* batcher) {
  TRITONHOST_REQUIRE(host);
  const std::lock_guard lock(host->mutex);
  const auto found = host->models.find(model);
  if (found != host->models.end() && found->second.model != nullptr) *batcher = found->second.model->batcher();
  return *batcher == nullptr ? NoSuch("model with a batching library", model) : nullptr;
}

}  // namespace

TRITONSERVER_Error* tritonhost_open_batcher(TritonHost* host, uint64_t model, const char* library) {
  TRITONHOST_REQUIRE(host);
  const std::lock_guard lock(host->mutex);
  HOST_REQUIRE_OPEN(host);
  const auto found = host->models.find(model);
  if (found == host->models.end() || !found->second.is_initialized || found->second.is_unloading) return NoSuch("initialized model", model);
  found->second.model->OpenBatcher(TextOr(library, ""));
  return nullptr;
}

TRITONSERVER_Error* tritonhost_begin_batch(TritonHost* host, uint64_t model, uint64_t batch) {
  std::shared_ptr<Batcher> batcher;
  if (TRITONSERVER_Error* error = FindBatcher(host, model, &batcher)) return error;
  return batcher->Begin(batch).release();
}

TRITONSERVER_Error* tritonhost_include_request(TritonHost* host, uint64_t model, uint64_t batch, const TritonHostRequest* request, bool* included) {
  TRITONHOST_REQUIRE(request);
  TRITONHOST_REQUIRE(included);
  std::shared_ptr<Batcher> batcher;
  if (TRITONSERVER_Error* error = FindBatcher(host, model, &batcher)) return error;
  return batcher->Include(batch, *request, included).release();
}

TRITONSERVER_Error* tritonhost_end_batch(TritonHost* host, uint64_t model, uint64_t batch) {
  std::shared_ptr<Batcher> batcher;
  if (TRITONSERVER_Error* error = FindBatcher(host, model, &batcher)) return error;
  return batcher->End(batch).release();
}

TRITONSERVER_Error* tritonhost_respond(TritonHost* host, uint64_t infer, const TritonHostReply* reply, uint32_t flags) {
  TRITONHOST_REQUIRE(host);
  // UNAVAILABLE is what a backend hears of a server that stops.
  return Contained([&] { return host->bridge.Respond(infer, reply, flags); }, TRITONSERVER_ERROR_INTERNAL);
}

TRITONSERVER_Error* tritonhost_release_infer(TritonHost* host, uint64_t infer) {
  TRITONHOST_REQUIRE(host);
  return host->bridge.ReleaseInfer(infer);
}

TRITONSERVER_Error* tritonhost_answer(
    TritonHost* host, uint64_t question, TRITONSERVER_Error_Code error_code, const char* error_message, uint32_t value, const char* text) {
  TRITONHOST_REQUIRE(host);
  Bridge::Answer answer;
  if (error_message != nullptr) answer.error.reset(MakeError(error_code, error_message));
  answer.value = value;
  if (text != nullptr) answer.text = text;
  return host->bridge.GiveAnswer(question, std::move(answer));
}

size_t tritonhost_drain(TritonHost* host, TritonHostEvent** events, size_t capacity) { return host->events->Drain(events, capacity); }

void tritonhost_event_free(TritonHostEvent* event) { delete static_cast<Event*>(event); }

TritonHostMemory* tritonhost_keep_tensor(const TritonHostEvent* event, uint32_t tensor) {
  const auto& owned = static_cast<const Event*>(event)->owned_tensors;
  return tensor < owned.size() && owned[tensor].memory != nullptr ? new TritonHostMemory{owned[tensor].memory} : nullptr;
}

void tritonhost_memory_free(TritonHostMemory* memory) { delete memory; }
