#include "onnxruntime/session.h"

#include <sched.h>
#include <unistd.h>

#include <memory>
#include <mutex>

#include "onnxruntime/optimization_cache.h"

namespace npu_console::onnxruntime {

namespace {

void LogFromOrt(void*, int severity, const char*, const char* log_id, const char*, const char* message) {
  const std::string text = std::string("onnxruntime ") + log_id + ": " + message;
  if (severity >= kOrtError) {
    KIT_LOG(ERROR, text);
  } else if (severity == kOrtWarning) {
    KIT_LOG(WARN, text);
  } else {
    KIT_LOG(VERBOSE, text);
  }
}

int ThreadCount(const kit::Options& options, const char* key) { return static_cast<int>(options.Integer(key, 0, 4096).value_or(0)); }

std::unique_ptr<Environment> Make(const kit::BackendSettings& settings) {
  auto environment = std::make_unique<Environment>();
  environment->api = &OpenOrt(settings.Text("library-path").value_or(""));
  const OrtApi& api = *environment->api;
  kit::ModelConfig none;
  none.name = "(all)";
  const kit::Options options(none, settings);
  environment->has_global_threads = options.Boolean("enable-global-threadpool").value_or(false);
  if (environment->has_global_threads) {
    Owned<OrtThreadingOptions> threading(api.ReleaseThreadingOptions);
    api.Must(api.CreateThreadingOptions(threading.out()));
    api.Must(api.SetGlobalIntraOpNumThreads(threading.get(), ThreadCount(options, "intra_op_thread_count")));
    api.Must(api.SetGlobalInterOpNumThreads(threading.get(), ThreadCount(options, "inter_op_thread_count")));
    api.Must(api.CreateEnvWithCustomLoggerAndGlobalThreadPools(LogFromOrt, nullptr, kOrtWarning, "server", threading.get(), &environment->handle));
  } else {
    api.Must(api.CreateEnvWithCustomLogger(LogFromOrt, nullptr, kOrtWarning, "server", &environment->handle));
  }
  api.Must(api.DisableTelemetryEvents(environment->handle));
  api.Must(api.GetAllocatorWithDefaultOptions(&environment->allocator));
  api.Must(api.CreateCpuMemoryInfo(0, 0, &environment->cpu_memory));
  return environment;
}

// Processors that this thread may use, where they are fewer than the machine has. (Left to itself ONNX Runtime makes a thread for each core of the machine and
// binds it to one of its own choice, whatever its maker was bound to.)
std::optional<int> BoundProcessors() {
  cpu_set_t processors;
  if (sched_getaffinity(0, sizeof processors, &processors) != 0) return std::nullopt;
  const int count = CPU_COUNT(&processors);
  if (count >= sysconf(_SC_NPROCESSORS_CONF)) return std::nullopt;
  return count;
}

// A name that the library allocated.
std::string Taken(const Environment& environment, char* name) {
  std::string text(name);
  environment.api->Must(environment.api->AllocatorFree(environment.allocator, name));
  return text;
}

void ReadDims(const OrtApi& api, const OrtTensorInfo* info, std::vector<std::int64_t>& dims) {
  std::size_t rank = 0;
  api.Must(api.GetDimensionsCount(info, &rank));
  dims.assign(rank, 0);
  api.Must(api.GetDimensions(info, dims.data(), rank));
}

}  // namespace

const Environment& MakeEnvironment(const kit::BackendSettings& settings) {
  static std::mutex mutex;
  static Environment* made = nullptr;
  const std::lock_guard lock(mutex);
  if (made == nullptr) made = Make(settings).release();
  return *made;
}

SessionSettings ReadSessionSettings(const kit::ModelConfig& config, const kit::BackendSettings& backend_settings, const Environment& environment) {
  const kit::Options options(config, backend_settings);
  SessionSettings settings;
  const auto threads = [&](const char* key) -> std::optional<int> {
    const int count = ThreadCount(options, key);
    return count == 0 ? std::nullopt : std::optional<int>(count);
  };
  const auto flag = [&](const char* key) -> std::optional<bool> {
    const std::optional<std::int64_t> value = options.Integer(key);
    return value.has_value() ? std::optional<bool>(*value != 0) : std::nullopt;
  };
  settings.intra_op_threads = threads("intra_op_thread_count");
  settings.inter_op_threads = threads("inter_op_thread_count");
  settings.is_parallel = flag("execution_mode").value_or(false);
  settings.memory_arena = flag("enable_mem_arena");
  settings.memory_pattern = flag("enable_mem_pattern");
  settings.profile_prefix = options.Text("profile_file_prefix").value_or("");
  settings.cache_directory = options.Text("optimization_cache_directory", "optimization-cache-directory").value_or("");
  settings.arena_shrinkage = options.Text("memory.enable_memory_arena_shrinkage").value_or("");
  settings.uses_global_threads = environment.has_global_threads;
  const std::int64_t level = config.document["optimization"]["graph"]["level"].Integer(0);
  settings.graph_level = level == -1 ? 1 : level == 1 ? 2 : 99;
  for (const auto& [key, value] : config.document["parameters"].members()) {
    if (key.starts_with("session.") || key.starts_with("optimization.")) settings.entries.emplace_back(key, value["string_value"].String(""));
  }
  return settings;
}

Session::Session(const Environment& environment, const std::string& model_path, const std::string& log_id, const SessionSettings& settings)
    : environment_(environment), session_(environment.api->ReleaseSession) {
  if (settings.cache_directory.empty()) {
    Load(model_path, log_id, settings, settings.graph_level, "");
  } else {
    LoadThroughCache(model_path, log_id, settings);
  }
  inputs_ = Describe(true);
  outputs_ = Describe(false);
}

void Session::Load(const std::string& path, const std::string& log_id, const SessionSettings& settings, int graph_level, const std::string& write_optimized) {
  const OrtApi& api = *environment_.api;
  Owned<OrtSessionOptions> owned(api.ReleaseSessionOptions);
  api.Must(api.CreateSessionOptions(owned.out()));
  OrtSessionOptions* const options = owned.get();
  api.Must(api.SetSessionLogId(options, log_id.c_str()));
  // The library's errors reach the client anyway.
  api.Must(api.SetSessionLogSeverityLevel(options, TRITONSERVER_LogIsEnabled(TRITONSERVER_LOG_VERBOSE) ? kOrtWarning : kOrtFatal));
  api.Must(api.SetSessionGraphOptimizationLevel(options, graph_level));
  api.Must(api.SetSessionExecutionMode(options, settings.is_parallel ? 1 : 0));
  const std::optional<int> bound = BoundProcessors();
  if (settings.uses_global_threads) {
    api.Must(api.DisablePerSessionThreads(options));
    notes_.push_back("threads shared by all models of the backend");
  } else {
    const std::optional<int> intra = settings.intra_op_threads.has_value() ? settings.intra_op_threads : bound;
    const std::optional<int> inter = settings.inter_op_threads.has_value() || !settings.is_parallel ? settings.inter_op_threads : bound;
    if (intra.has_value()) api.Must(api.SetIntraOpNumThreads(options, *intra));
    if (inter.has_value()) api.Must(api.SetInterOpNumThreads(options, *inter));
    if (intra.has_value()) notes_.push_back(std::to_string(*intra) + (*intra == 1 ? " thread a node" : " threads a node"));
  }
  if (settings.memory_arena.has_value()) api.Must(*settings.memory_arena ? api.EnableCpuMemArena(options) : api.DisableCpuMemArena(options));
  if (settings.memory_pattern.has_value()) api.Must(*settings.memory_pattern ? api.EnableMemPattern(options) : api.DisableMemPattern(options));
  if (!settings.profile_prefix.empty()) api.Must(api.EnableProfiling(options, settings.profile_prefix.c_str()));
  if (!write_optimized.empty()) api.Must(api.SetOptimizedModelFilePath(options, write_optimized.c_str()));
  for (const auto& [key, value] : settings.entries) api.Must(api.AddSessionConfigEntry(options, key.c_str(), value.c_str()));
  api.Must(api.CreateSession(environment_.handle, path.c_str(), options, session_.out()));
}

void Session::LoadThroughCache(const std::string& path, const std::string& log_id, const SessionSettings& settings) {
  const OptimizationCache cache(settings.cache_directory, path, settings.graph_level, environment_.api->version);
  if (cache.IsFilled()) {
    try {
      Load(cache.file(), log_id, settings, 0, "");
      notes_.push_back("optimized model taken from the cache");
      return;
    } catch (const OrtError& error) {
      notes_.clear();
      KIT_LOG(WARN, "the optimized model '" + cache.file() + "' could not be loaded and is made anew: " + error.message());
    }
  }
  const std::string fresh = cache.Begin();
  try {
    Load(path, log_id, settings, settings.graph_level, fresh);
    cache.Commit(fresh);
    notes_.push_back("optimized model written to the cache");
  } catch (const kit::Error& error) {
    // A model whose weights do not fit into one file, or a directory that cannot be written to: without the cache it may well load.
    cache.Abandon(fresh);
    if (session_.get() == nullptr) {
      notes_.clear();
      Load(path, log_id, settings, settings.graph_level, "");
    }
    KIT_LOG(WARN, "the optimized model of " + log_id + " was not kept in '" + settings.cache_directory + "': " + error.message());
  }
}

std::vector<TensorInfo> Session::Describe(bool inputs) const {
  const OrtApi& api = *environment_.api;
  std::size_t count = 0;
  api.Must((inputs ? api.SessionGetInputCount : api.SessionGetOutputCount)(session_.get(), &count));
  std::vector<TensorInfo> tensors(count);
  for (std::size_t index = 0; index < count; ++index) {
    TensorInfo& tensor = tensors[index];
    char* name = nullptr;
    api.Must((inputs ? api.SessionGetInputName : api.SessionGetOutputName)(session_.get(), index, environment_.allocator, &name));
    tensor.name = Taken(environment_, name);
    Owned<OrtTypeInfo> type(api.ReleaseTypeInfo);
    api.Must((inputs ? api.SessionGetInputTypeInfo : api.SessionGetOutputTypeInfo)(session_.get(), index, type.out()));
    const OrtTensorInfo* info = nullptr;
    api.Must(api.CastTypeInfoToTensorInfo(type.get(), &info));
    // A sequence or a map: a model that has one may be served as long as nobody asks for it.
    if (info == nullptr) continue;
    api.Must(api.GetTensorElementType(info, &tensor.onnx_type));
    tensor.datatype = TritonType(tensor.onnx_type);
    ReadDims(api, info, tensor.dims);
    std::vector<const char*> names(tensor.dims.size(), "");
    api.Must(api.GetSymbolicDimensions(info, names.data(), names.size()));
    tensor.dim_names.assign(names.begin(), names.end());
  }
  return tensors;
}

const TensorInfo* Session::Input(const std::string& name) const {
  for (const TensorInfo& tensor : inputs_) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

const TensorInfo* Session::Output(const std::string& name) const {
  for (const TensorInfo& tensor : outputs_) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

ValueInfo Describe(const OrtApi& api, const std::string& name, const OrtValue* value) {
  int type = 0;
  api.Must(api.GetValueType(value, &type));
  if (type != kOrtTypeTensor) throw kit::Internal("output '" + name + "' is no tensor, which the protocol does not know");
  Owned<OrtTensorInfo> info(api.ReleaseTensorTypeAndShapeInfo);
  api.Must(api.GetTensorTypeAndShape(value, info.out()));
  ValueInfo described;
  api.Must(api.GetTensorElementType(info.get(), &described.onnx_type));
  ReadDims(api, info.get(), described.shape);
  return described;
}

}  // namespace npu_console::onnxruntime
