#include "triton_host.h"

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "event_group.h"
#include "host.h"
#include "host_arguments.h"
#include "host_events.h"

namespace npu_console {
namespace {

constexpr std::size_t kEventsPerGroup = 256;
// Then JavaScript has its turn before the next ones.
constexpr int kGroupsPerTurn = 4;
// How long the end of a JavaScript environment waits for backends that nobody ended before.
constexpr std::uint32_t kEnvironmentEndMilliseconds = 2'000;

// What the thread that closes the host has to tell.
struct Closed {
  TRITONSERVER_Error* error;
};

bool IsReport(const TritonHostEvent& event) { return event.kind == TRITONHOST_EVENT_LOG || event.kind == TRITONHOST_EVENT_VIOLATION; }

}  // namespace

class TritonHostObject : public Napi::ObjectWrap<TritonHostObject> {
 public:
  static Napi::Function Define(Napi::Env env) {
    return DefineClass(env, "TritonHost", {
      InstanceMethod<&TritonHostObject::LoadModel>("loadModel"),
      InstanceMethod<&TritonHostObject::UnloadModel>("unloadModel"),
      InstanceMethod<&TritonHostObject::AddInstance>("addInstance"),
      InstanceMethod<&TritonHostObject::RemoveInstance>("removeInstance"),
      InstanceMethod<&TritonHostObject::CheckInstance>("checkInstance"),
      InstanceMethod<&TritonHostObject::OpenBatcher>("openBatcher"),
      InstanceMethod<&TritonHostObject::BeginBatch>("beginBatch"),
      InstanceMethod<&TritonHostObject::IncludeRequest>("includeRequest"),
      InstanceMethod<&TritonHostObject::EndBatch>("endBatch"),
      InstanceMethod<&TritonHostObject::Submit>("submit"),
      InstanceMethod<&TritonHostObject::Cancel>("cancel"),
      InstanceMethod<&TritonHostObject::Respond>("respond"),
      InstanceMethod<&TritonHostObject::ReleaseInfer>("releaseInfer"),
      InstanceMethod<&TritonHostObject::Answer>("answer"),
      InstanceMethod<&TritonHostObject::SetLogLevels>("setLogLevels"),
      InstanceMethod<&TritonHostObject::Copies>("copies"),
      InstanceMethod<&TritonHostObject::Close>("close"),
    });
  }

  // new TritonHost({ backendDirectories, logLevels, unloadReportMilliseconds, leakGraceMilliseconds }, onEvents(numbers, count, values))
  explicit TritonHostObject(const Napi::CallbackInfo& info) : Napi::ObjectWrap<TritonHostObject>(info) {
    const Napi::Env env = info.Env();
    if (info.Length() != 2 || !info[0].IsObject() || !info[1].IsFunction()) throw Napi::TypeError::New(env, "TritonHost takes options and a function for events");
    const Napi::Object given = info[0].As<Napi::Object>();
    HostArguments arguments(env);
    const auto& directories = arguments.Texts(given.Get("backendDirectories"));
    TritonHostOptions options{};
    options.backend_directories = directories.data();
    options.backend_directory_count = static_cast<std::uint32_t>(directories.size());
    options.notify = [](void* context) { napi_call_threadsafe_function(static_cast<napi_threadsafe_function>(context), nullptr, napi_tsfn_nonblocking); };
    options.log_levels = arguments.Uint32(given.Get("logLevels"));
    options.unload_report_ms = arguments.Uint32(given.Get("unloadReportMilliseconds"));
    options.leak_grace_ms = arguments.Uint32(given.Get("leakGraceMilliseconds"));
    const napi_status made = napi_create_threadsafe_function(
        env, info[1], nullptr, Napi::String::New(env, "TritonHost"), 0, 1, nullptr, nullptr, this, &TritonHostObject::CallJavaScript, &wake_up_);
    if (made != napi_ok) throw Napi::Error::New(env, "TritonHost could not make its function for events");
    options.notify_context = wake_up_;
    Napi::Float64Array numbers = Napi::Float64Array::New(env, EventGroup::Capacity(kEventsPerGroup));
    numbers_ = numbers.Data();
    if (napi_create_reference(env, numbers, 1, &numbers_reference_) != napi_ok) throw Napi::Error::New(env, "TritonHost could not keep its numbers");
    ThrowIfFailed(env, tritonhost_new(&options, &host_));
    napi_add_env_cleanup_hook(env, &TritonHostObject::EnvironmentEnds, this);
    // Lives until it is closed, whoever still knows it.
    Ref();
  }

 private:
  static void CallJavaScript(napi_env env, napi_value callback, void* context, void* data) {
    auto* const self = static_cast<TritonHostObject*>(context);
    const std::unique_ptr<Closed> closed(static_cast<Closed*>(data));
    // The environment ends: nobody listens any more.
    if (env == nullptr) {
      if (closed != nullptr) TRITONSERVER_ErrorDelete(closed->error);
      return;
    }
    if (closed != nullptr) {
      self->FinishClose(callback, closed->error);
    } else if (!self->is_closing_) {
      self->Drain(env, callback);
    }
  }

  // Gives a group of events to JavaScript and frees them. False: the environment ends, or a JavaScript exception is pending: then it is an uncaught one, as of any
  // callback.
  bool Deliver(napi_env env, napi_value callback, TritonHostEvent* const* events, std::size_t count) {
    bool is_whole = true;
    napi_value arguments[3] = {};
    try {
      const EventGroup group(env, events, count, numbers_, &copies_);
      arguments[2] = group.values();
      is_whole = napi_create_uint32(env, static_cast<std::uint32_t>(group.count()), &arguments[1]) == napi_ok;
    } catch (const NoJavaScript&) {
      is_whole = false;
    }
    for (std::size_t index = 0; index < count; ++index) tritonhost_event_free(events[index]);
    napi_value undefined = nullptr;
    return is_whole && napi_get_reference_value(env, numbers_reference_, &arguments[0]) == napi_ok && napi_get_undefined(env, &undefined) == napi_ok &&
           napi_call_function(env, undefined, callback, 3, arguments, nullptr) == napi_ok;
  }

  void Drain(napi_env env, napi_value callback) {
    TritonHostEvent* events[kEventsPerGroup];
    for (int group = 0; group < kGroupsPerTurn; ++group) {
      const std::size_t count = tritonhost_drain(host_, events, kEventsPerGroup);
      if (count == 0) return;
      if (!Deliver(env, callback, events, count)) break;
      // It may have closed the host.
      if (is_closing_) return;
    }
    napi_call_threadsafe_function(wake_up_, nullptr, napi_tsfn_nonblocking);
  }

  // loadModel({ token, name, version, directory, backend, library, config, backendConfig, autoComplete, mayReschedule, outputs, states })
  void LoadModel(const Napi::CallbackInfo& info) {
    const Napi::Object given = Open(info).As<Napi::Object>();
    HostArguments arguments(info.Env());
    TritonHostModelOptions options{};
    options.token = arguments.Token(given.Get("token"));
    options.name = arguments.Text(given.Get("name"));
    options.version = arguments.Token(given.Get("version"));
    options.directory = arguments.Text(given.Get("directory"));
    options.backend = arguments.Text(given.Get("backend"));
    options.library = arguments.OptionalText(given.Get("library"));
    options.config_json = arguments.Text(given.Get("config"));
    options.backend_config_json = arguments.Text(given.Get("backendConfig"));
    options.auto_complete_config = given.Get("autoComplete").ToBoolean();
    options.may_reschedule = given.Get("mayReschedule").ToBoolean();
    const auto& outputs = arguments.Texts(given.Get("outputs"));
    options.outputs = outputs.data();
    options.output_count = static_cast<std::uint32_t>(outputs.size());
    const auto& states = arguments.Texts(given.Get("states"));
    options.states = states.data();
    options.state_count = static_cast<std::uint32_t>(states.size());
    ThrowIfFailed(info.Env(), tritonhost_load_model(host_, &options));
  }

  void UnloadModel(const Napi::CallbackInfo& info) { ThrowIfFailed(info.Env(), tritonhost_unload_model(host_, Token(info))); }

  // addInstance({ token, model, name, kind, deviceId, isPassive, hostPolicyName, hostPolicy, profiles, secondaryKinds, secondaryIds, processors })
  void AddInstance(const Napi::CallbackInfo& info) {
    const Napi::Object given = Open(info).As<Napi::Object>();
    HostArguments arguments(info.Env());
    TritonHostInstanceOptions options{};
    options.token = arguments.Token(given.Get("token"));
    options.model = arguments.Token(given.Get("model"));
    options.name = arguments.Text(given.Get("name"));
    options.kind = static_cast<TRITONSERVER_InstanceGroupKind>(arguments.Uint32(given.Get("kind")));
    options.device_id = static_cast<std::int32_t>(arguments.Number(given.Get("deviceId")));
    options.is_passive = given.Get("isPassive").ToBoolean();
    options.host_policy = arguments.Text(given.Get("hostPolicyName"));
    options.host_policy_json = arguments.Text(given.Get("hostPolicy"));
    const auto& profiles = arguments.Texts(given.Get("profiles"));
    options.profiles = profiles.data();
    options.profile_count = static_cast<std::uint32_t>(profiles.size());
    const auto& kinds = arguments.Texts(given.Get("secondaryKinds"));
    const napi_value given_ids = given.Get("secondaryIds");
    std::vector<std::int64_t> ids;
    for (std::uint32_t index = 0; index < kinds.size(); ++index) ids.push_back(static_cast<std::int64_t>(arguments.Number(arguments.Element(given_ids, index))));
    options.secondary_kinds = kinds.data();
    options.secondary_ids = ids.data();
    options.secondary_count = static_cast<std::uint32_t>(kinds.size());
    const napi_value given_processors = given.Get("processors");
    std::vector<std::uint32_t> processors(arguments.Length(given_processors));
    for (std::uint32_t index = 0; index < processors.size(); ++index) processors[index] = arguments.Uint32(arguments.Element(given_processors, index));
    options.processors = processors.data();
    options.processor_count = static_cast<std::uint32_t>(processors.size());
    ThrowIfFailed(info.Env(), tritonhost_add_instance(host_, &options));
  }

  void RemoveInstance(const Napi::CallbackInfo& info) { ThrowIfFailed(info.Env(), tritonhost_remove_instance(host_, Token(info))); }
  void CheckInstance(const Napi::CallbackInfo& info) { ThrowIfFailed(info.Env(), tritonhost_check_instance(host_, Token(info))); }

  // openBatcher(model, library | null)
  void OpenBatcher(const Napi::CallbackInfo& info) {
    Open(info);
    HostArguments arguments(info.Env());
    ThrowIfFailed(info.Env(), tritonhost_open_batcher(host_, arguments.Token(info[0]), arguments.OptionalText(info[1])));
  }

  // beginBatch(model, batch)
  void BeginBatch(const Napi::CallbackInfo& info) {
    Open(info);
    const HostArguments arguments(info.Env());
    ThrowIfFailed(info.Env(), tritonhost_begin_batch(host_, arguments.Token(info[0]), arguments.Token(info[1])));
  }

  // includeRequest(model, batch, request): boolean; the data of its inputs must not be changed or let go before endBatch
  Napi::Value IncludeRequest(const Napi::CallbackInfo& info) {
    Open(info);
    HostArguments arguments(info.Env());
    const TritonHostRequest request = arguments.Request(info[2]);
    bool included = false;
    ThrowIfFailed(info.Env(), tritonhost_include_request(host_, arguments.Token(info[0]), arguments.Token(info[1]), &request, &included));
    return Napi::Boolean::New(info.Env(), included);
  }

  // endBatch(model, batch)
  void EndBatch(const Napi::CallbackInfo& info) {
    Open(info);
    const HostArguments arguments(info.Env());
    ThrowIfFailed(info.Env(), tritonhost_end_batch(host_, arguments.Token(info[0]), arguments.Token(info[1])));
  }

  // submit(instance, batch, requests); the data of the inputs must not be changed or let go before REQUEST_RELEASED
  void Submit(const Napi::CallbackInfo& info) {
    Open(info);
    HostArguments arguments(info.Env());
    const auto& requests = arguments.Requests(info[2]);
    ThrowIfFailed(info.Env(), tritonhost_submit(host_, arguments.Token(info[0]), arguments.Token(info[1]), requests.data(), static_cast<std::uint32_t>(requests.size())));
  }

  // cancel(instance, request)
  void Cancel(const Napi::CallbackInfo& info) {
    Open(info);
    const HostArguments arguments(info.Env());
    ThrowIfFailed(info.Env(), tritonhost_cancel(host_, arguments.Token(info[0]), arguments.Token(info[1])));
  }

  // respond(infer, flags, null | { errorCode, errorMessage, modelName, modelVersion, outputs, parameters })
  void Respond(const Napi::CallbackInfo& info) {
    Open(info);
    HostArguments arguments(info.Env());
    const std::uint64_t infer = arguments.Token(info[0]);
    const std::uint32_t flags = arguments.Uint32(info[1]);
    if (!info[2].IsObject()) {
      ThrowIfFailed(info.Env(), tritonhost_respond(host_, infer, nullptr, flags));
      return;
    }
    const Napi::Object given = info[2].As<Napi::Object>();
    TritonHostReply reply{};
    reply.error_code = static_cast<TRITONSERVER_Error_Code>(arguments.Uint32(given.Get("errorCode")));
    reply.error_message = arguments.OptionalText(given.Get("errorMessage"));
    reply.model_name = arguments.Text(given.Get("modelName"));
    reply.model_version = static_cast<std::int64_t>(arguments.Number(given.Get("modelVersion")));
    const auto& outputs = arguments.Tensors(given.Get("outputs"));
    reply.outputs = outputs.data();
    reply.output_count = static_cast<std::uint32_t>(outputs.size());
    const auto& parameters = arguments.Parameters(given.Get("parameters"));
    reply.parameters = parameters.data();
    reply.parameter_count = static_cast<std::uint32_t>(parameters.size());
    ThrowIfFailed(info.Env(), tritonhost_respond(host_, infer, &reply, flags));
  }

  void ReleaseInfer(const Napi::CallbackInfo& info) { ThrowIfFailed(info.Env(), tritonhost_release_infer(host_, Token(info))); }

  // answer(question, errorCode, errorMessage | null, value, text | null)
  void Answer(const Napi::CallbackInfo& info) {
    Open(info);
    HostArguments arguments(info.Env());
    ThrowIfFailed(
        info.Env(), tritonhost_answer(
                        host_, arguments.Token(info[0]), static_cast<TRITONSERVER_Error_Code>(arguments.Uint32(info[1])), arguments.OptionalText(info[2]),
                        arguments.Uint32(info[3]), arguments.OptionalText(info[4])));
  }

  void SetLogLevels(const Napi::CallbackInfo& info) {
    Open(info);
    tritonhost_set_log_levels(host_, HostArguments(info.Env()).Uint32(info[0]));
  }

  // copies(): { tensors, bytes, lentTensors, lentBytes } of the tensors that came out of the host: copied once, or not at all
  Napi::Value Copies(const Napi::CallbackInfo& info) {
    Napi::Object result = Napi::Object::New(info.Env());
    result.Set("tensors", Napi::Number::New(info.Env(), static_cast<double>(copies_.tensors)));
    result.Set("bytes", Napi::Number::New(info.Env(), static_cast<double>(copies_.bytes)));
    result.Set("lentTensors", Napi::Number::New(info.Env(), static_cast<double>(copies_.lent_tensors)));
    result.Set("lentBytes", Napi::Number::New(info.Env(), static_cast<double>(copies_.lent_bytes)));
    return result;
  }

  // close(timeoutMilliseconds): Promise<void>. On a thread of its own: backends that finalize may take their time.
  Napi::Value Close(const Napi::CallbackInfo& info) {
    Open(info);
    const std::uint32_t timeout = HostArguments(info.Env()).Uint32(info[0]);
    is_closing_ = true;
    deferred_ = std::make_unique<Napi::Promise::Deferred>(info.Env());
    closing_ = std::thread([this, timeout] {
      auto* const closed = new Closed{tritonhost_close(host_, timeout)};
      // Refused only where the environment ends, which waits for this thread and needs no answer.
      if (napi_call_threadsafe_function(wake_up_, closed, napi_tsfn_blocking) != napi_ok) {
        TRITONSERVER_ErrorDelete(closed->error);
        delete closed;
      }
    });
    return deferred_->Promise();
  }

  void FinishClose(napi_value callback, TRITONSERVER_Error* error) {
    const Napi::Env env = Env();
    const Napi::HandleScope scope(env);
    closing_.join();
    DeliverReports(env, callback);
    // One that could not be closed stays in memory: backends still use it.
    if (error == nullptr) TRITONSERVER_ErrorDelete(tritonhost_delete(host_, 0));
    host_ = nullptr;
    napi_remove_env_cleanup_hook(env, &TritonHostObject::EnvironmentEnds, this);
    napi_release_threadsafe_function(wake_up_, napi_tsfn_release);
    napi_delete_reference(env, numbers_reference_);
    const std::unique_ptr<Napi::Promise::Deferred> deferred = std::move(deferred_);
    if (error == nullptr) {
      deferred->Resolve(env.Undefined());
    } else {
      try {
        ThrowIfFailed(env, error);
      } catch (const Napi::Error& failure) {
        deferred->Reject(failure.Value());
      }
    }
    Unref();
  }

  // What backends said until the very end. All else has nobody left who waits for it.
  void DeliverReports(napi_env env, napi_value callback) {
    TritonHostEvent* events[kEventsPerGroup];
    for (std::size_t count = 0; (count = tritonhost_drain(host_, events, kEventsPerGroup)) > 0;) {
      const Napi::HandleScope scope(env);
      std::size_t reports = 0;
      for (std::size_t index = 0; index < count; ++index) {
        if (IsReport(*events[index])) events[reports++] = events[index];
        else tritonhost_event_free(events[index]);
      }
      if (reports > 0 && !Deliver(env, callback, events, reports)) return;
    }
  }

  // A worker that is terminated, or process.exit: what the backends still hold must not outlive the memory that it lies in.
  static void EnvironmentEnds(void* context) {
    auto* const self = static_cast<TritonHostObject*>(context);
    if (self->closing_.joinable()) {
      self->closing_.join();
    } else if (!self->is_closing_) {
      self->is_closing_ = true;
      TRITONSERVER_ErrorDelete(tritonhost_delete(self->host_, kEnvironmentEndMilliseconds));
    }
  }

  // The first argument. Throws where the host was closed.
  Napi::Value Open(const Napi::CallbackInfo& info) const {
    if (is_closing_) {
      Napi::Error closed = Napi::Error::New(info.Env(), "the Triton host is closed");
      closed.Set("code", Napi::Number::New(info.Env(), TRITONSERVER_ERROR_UNAVAILABLE));
      throw closed;
    }
    return info[0];
  }

  std::uint64_t Token(const Napi::CallbackInfo& info) const {
    const Napi::Value token = Open(info);
    return HostArguments(info.Env()).Token(token);
  }

  TritonHost* host_ = nullptr;
  napi_threadsafe_function wake_up_ = nullptr;
  bool is_closing_ = false;
  TensorCopies copies_;
  // What events come as, group after group; JavaScript's.
  double* numbers_ = nullptr;
  napi_ref numbers_reference_ = nullptr;
  std::thread closing_;
  std::unique_ptr<Napi::Promise::Deferred> deferred_;
};

namespace {

// tritonMetricsText(): string. Of all hosts of the process.
Napi::Value TritonMetricsText(const Napi::CallbackInfo& info) {
  char* const text = tritonhost_metrics_text();
  const Napi::Value value = Napi::String::New(info.Env(), text);
  tritonhost_text_free(text);
  return value;
}

}  // namespace

void ExportTritonHost(Napi::Env env, Napi::Object exports) {
  exports.Set("TritonHost", TritonHostObject::Define(env));
  exports.Set("tritonMetricsText", Napi::Function::New(env, TritonMetricsText, "tritonMetricsText"));
}

}  // namespace npu_console
