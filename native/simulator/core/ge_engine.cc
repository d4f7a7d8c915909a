#include "core/ge_engine.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "core/compiled_model.h"
#include "core/errors.h"
#include "core/runtime.h"

namespace simulator {

namespace {

using Options = std::map<std::string, std::string>;

/** With which calls a graph is used: they do not mix. */
enum class Style { None, Compile, Build };

struct Graph {
  std::string onnx;
  std::string name;
  Options parserParams;
  Options options;
  std::mutex mutex;
  Style style = Style::None;
  std::shared_ptr<const CompiledModel> model;
  std::shared_ptr<LoadedModel> loaded;
  Options loadOptions;
  /** Outputs that GE allocated: the same addresses for every run. */
  std::vector<void *> outputs;
  std::vector<size_t> outputRoom;
  uint64_t outputGeneration = 0;
  /** One run at a time, whatever the stream. */
  std::mutex run;

  ~Graph() { FreeOutputs(); }
  void FreeOutputs() {
    if (loaded != nullptr && loaded->device().generation == outputGeneration) {
      for (void *output : outputs) Runtime::Instance().Free(output);
    }
    outputs.clear();
    outputRoom.clear();
  }
};

struct Session {
  Options options;
  Device *device = nullptr;
  Handle privateContext = 0;
  std::mutex mutex;
  std::map<uint32_t, std::shared_ptr<Graph>> graphs;
  /** Runs what RunGraphAsync was given, in order. */
  std::unique_ptr<Stream> worker;
};

struct Engine {
  std::mutex mutex;
  bool isInitialized = false;
  Options options;
  uint64_t next = 1;
  std::map<uint64_t, std::shared_ptr<Session>> sessions;
};

Engine &TheEngine() {
  static Engine *engine = new Engine();
  return *engine;
}

std::string &ThreadText() {
  thread_local std::string text;
  return text;
}

uint32_t FailWith(const std::string &text) {
  ThreadText() = "E19999: [simulated] " + text;
  return GE_FAILED;
}

/** A failure of the runtime below, with its code and text. */
uint32_t FailBelow(const char *what) { return FailWith(std::string(what) + ": " + NewestErrorText()); }

Options ToOptions(const GeOptions &options) {
  Options result;
  for (const GeOption &option : options) result[option.key] = option.value;
  return result;
}

const std::string &Value(const Options &options, const char *key) {
  static const std::string none;
  const auto found = options.find(key);
  return found == options.end() ? none : found->second;
}

/** Graph before session before global. */
Options Merge(const Session &session, const Graph *graph) {
  Options merged;
  {
    const std::lock_guard lock(TheEngine().mutex);
    merged = TheEngine().options;
  }
  for (const auto &[key, value] : session.options) merged[key] = value;
  if (graph != nullptr) {
    for (const auto &[key, value] : graph->options) merged[key] = value;
  }
  return merged;
}

bool CheckOptions(const Options &options) {
  static const std::map<std::string, std::vector<std::string>> words = {
      {"ge.exec.precision_mode", {"force_fp16", "force_fp32", "cube_fp16in_fp32out", "allow_fp32_to_fp16", "must_keep_origin_dtype", "allow_mix_precision",
                                  "allow_mix_precision_fp16", "allow_mix_precision_bf16", "allow_fp32_to_bf16"}},
      {"ge.exec.precision_mode_v2", {"fp16", "origin", "cube_fp16in_fp32out", "mixed_float16", "mixed_bfloat16", "mixed_hif8", "cube_hif8"}},
      {"ge.graphRunMode", {"0", "1"}},
      {"ge.exec.staticMemoryPolicy", {"0", "2", "3", "4"}},
      {"ge.constLifecycle", {"session", "graph"}},
      {"ge.op_compiler_cache_mode", {"enable", "force", "disable"}},
      {"ge.dynamicNodeType", {"0", "1"}},
  };
  for (const auto &[key, allowed] : words) {
    const std::string &value = Value(options, key.c_str());
    if (!value.empty() && std::find(allowed.begin(), allowed.end(), value) == allowed.end()) {
      FailWith("the option " + key + " does not take '" + value + "'");
      return false;
    }
  }
  if (!Value(options, "ge.exec.precision_mode").empty() && !Value(options, "ge.exec.precision_mode_v2").empty()) {
    FailWith("the options ge.exec.precision_mode and ge.exec.precision_mode_v2 exclude each other");
    return false;
  }
  return true;
}

bool HasEmptyKey(const GeOptions &options) {
  return std::any_of(options.begin(), options.end(), [](const GeOption &option) { return option.key[0] == 0; });
}

uint32_t FindSession(uint64_t id, std::shared_ptr<Session> &session) {
  Engine &engine = TheEngine();
  const std::lock_guard lock(engine.mutex);
  if (!engine.isInitialized) return FailWith("GE is not initialised: call GEInitialize first");
  const auto found = engine.sessions.find(id);
  if (found == engine.sessions.end()) return FailWith("there is no session " + std::to_string(id));
  session = found->second;
  return GE_SUCCESS;
}

uint32_t FindGraph(uint64_t sessionId, uint32_t graphId, std::shared_ptr<Session> &session, std::shared_ptr<Graph> &graph) {
  if (FindSession(sessionId, session) != GE_SUCCESS) return GE_FAILED;
  const std::lock_guard lock(session->mutex);
  const auto found = session->graphs.find(graphId);
  if (found == session->graphs.end()) return FailWith("there is no graph " + std::to_string(graphId) + " in the session");
  graph = found->second;
  return GE_SUCCESS;
}

uint64_t Hash(const std::string &text) {
  uint64_t hash = 14695981039346656037u;
  for (const char byte : text) hash = (hash ^ static_cast<unsigned char>(byte)) * 1099511628211u;
  return hash;
}

void Sleep(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds * Settings::Instance().timeScale())); }

/** Writes a file of a cache; one that cannot be written only costs time later. */
void WriteCache(const std::filesystem::path &path, const std::string &content) {
  std::error_code ignored;
  std::filesystem::create_directories(path.parent_path(), ignored);
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

/** Takes a whole compiled graph from the cache named by the options, or compiles it and takes as long as a compiler would. */
std::shared_ptr<const CompiledModel> CompileOrCached(const Graph &graph, const CompileRequest &request, const Options &options) {
  const std::string settings = request.soc + "\n" + request.inputShape + "\n" + request.gears + "\n" + request.aicoreNum;
  const std::string &directory = Value(options, "ge.graph_compiler_cache_dir");
  const std::string &key = Value(options, "ge.graph_key");
  std::filesystem::path whole;
  if (!directory.empty() && !key.empty()) {
    whole = std::filesystem::path(directory) / (key + "_" + std::to_string(Hash(settings + graph.onnx)) + ".om");
    std::string file;
    std::string ignored;
    OmProblem problem = OmProblem::None;
    if (ReadWholeFile(whole.string(), file)) {
      // A damaged file of the cache is made again.
      if (auto cached = ReadOm(file.data(), file.size(), problem, ignored); cached != nullptr && cached->onnx == graph.onnx) return cached;
    }
  }
  std::string error;
  auto model = Compile(graph.onnx, request, error);
  if (model == nullptr) {
    FailWith("the graph cannot be compiled: " + error);
    return nullptr;
  }
  const std::string &operators = Value(options, "ge.op_compiler_cache_dir");
  const bool usesCache = !operators.empty() && Value(options, "ge.op_compiler_cache_mode") != "disable";
  const std::filesystem::path marker = std::filesystem::path(operators) / ("simulated_" + std::to_string(Hash(settings + graph.onnx)) + ".op");
  const bool isKnown = usesCache && Value(options, "ge.op_compiler_cache_mode") != "force" && std::filesystem::exists(marker);
  Sleep(CompileSeconds(*model) * (isKnown ? 0.1 : 1));
  if (usesCache && !isKnown) WriteCache(marker, "simulated operator cache\n");
  if (!whole.empty()) WriteCache(whole, WriteOm(*model));
  return model;
}

/** Compiles the graph if it is not yet; call with the graph's lock. */
uint32_t EnsureCompiled(const Session &session, Graph &graph) {
  if (graph.model != nullptr) return GE_SUCCESS;
  const Options options = Merge(session, &graph);
  if (!CheckOptions(options)) return GE_FAILED;
  const std::string &soc = Value(options, "ge.socVersion");
  if (!soc.empty() && soc != session.device->profile.soc) {
    return FailWith("the option ge.socVersion is " + soc + ", the device is " + session.device->profile.soc);
  }
  CompileRequest request;
  request.name = graph.name;
  request.soc = session.device->profile.soc;
  request.aicoreNum = Value(options, "ge.aicoreNum");
  request.inputShape = Value(graph.parserParams, "input_shape");
  request.gears = Value(options, "ge.dynamicDims");
  if (!request.gears.empty()) {
    // The shape acts only together with gears.
    request.inputShape = Value(options, "ge.inputShape");
    request.gearKind = GearKind::Dims;
    if (request.inputShape.empty() || Value(options, "ge.dynamicNodeType").empty()) {
      return FailWith("gears need ge.inputShape, ge.dynamicDims and ge.dynamicNodeType together");
    }
  }
  graph.model = CompileOrCached(graph, request, options);
  return graph.model == nullptr ? GE_FAILED : GE_SUCCESS;
}

/** While it lives, the calling thread works in the default context of the device, as GE's load and run calls do; it stays there afterwards. */
class DefaultContextCall {
 public:
  explicit DefaultContextCall(const Device &device) : device_(device), code_(Runtime::Instance().SetDevice(device.id)) {}
  ~DefaultContextCall() {
    if (code_ == ACL_SUCCESS) Runtime::Instance().ResetDevice(device_.id, false);
  }
  DefaultContextCall(const DefaultContextCall &) = delete;
  DefaultContextCall &operator=(const DefaultContextCall &) = delete;
  bool isGood() const { return code_ == ACL_SUCCESS; }

 private:
  const Device &device_;
  aclError code_;
};

uint32_t EnsureLoaded(const Session &session, Graph &graph) {
  if (graph.loaded != nullptr) return GE_SUCCESS;
  TaskResult problem;
  // Copies of a graph that keep their constants for the session would share them; each pays here.
  graph.loaded = LoadedModel::Load(graph.model, *session.device, true, true, problem);
  if (graph.loaded == nullptr) {
    Fail(problem.code, problem.text);
    return FailBelow("the graph cannot be loaded");
  }
  graph.outputGeneration = session.device->generation;
  return GE_SUCCESS;
}

/** Which set of shapes the inputs are; SIZE_MAX for free shapes. */
uint32_t PickVariant(const CompiledModel &model, const std::vector<GeTensor> &inputs, size_t &variant) {
  if (inputs.size() != model.inputs.size()) {
    return FailWith("the graph has " + std::to_string(model.inputs.size()) + " inputs, given are " + std::to_string(inputs.size()));
  }
  for (size_t index = 0; index < inputs.size(); index++) {
    if (inputs[index].type != model.inputs[index].type) return FailWith("input " + std::to_string(index) + " has the wrong element type");
    if (inputs[index].bytes < TensorBytes(model.inputs[index].type, inputs[index].dims)) {
      return FailWith("input " + std::to_string(index) + " has fewer bytes than its shape needs");
    }
  }
  variant = SIZE_MAX;
  if (model.IsDynamic()) return GE_SUCCESS;
  for (size_t candidate = 0; candidate < model.variants.size(); candidate++) {
    bool fits = true;
    for (size_t index = 0; index < inputs.size(); index++) fits = fits && inputs[index].dims == model.variants[candidate].inputs[index];
    if (fits) variant = candidate;
  }
  return variant == SIZE_MAX ? FailWith("the input shapes are not those of the graph, nor of one of its gears") : GE_SUCCESS;
}

std::vector<TensorView> Views(const std::vector<GeTensor> &tensors) {
  std::vector<TensorView> views;
  for (const GeTensor &tensor : tensors) views.push_back({tensor.data, TensorBytes(static_cast<aclDataType>(tensor.type), tensor.dims), tensor.dims});
  return views;
}

bool IsListed(const std::string &list, size_t index) {
  const std::string wanted = std::to_string(index);
  size_t at = 0;
  while (at < list.size()) {
    const size_t end = std::min(list.find(',', at), list.size());
    if (list.compare(at, end - at, wanted) == 0) return true;
    at = end + 1;
  }
  return false;
}

/** Memory for outputs that the caller left to GE. */
uint32_t ProvideOutputs(Graph &graph, Device &device, size_t variant, std::vector<GeTensor> &outputs) {
  const CompiledModel &model = *graph.model;
  outputs.resize(model.outputs.size());
  graph.outputs.resize(model.outputs.size(), nullptr);
  graph.outputRoom.resize(model.outputs.size(), 0);
  for (size_t index = 0; index < outputs.size(); index++) {
    outputs[index].type = model.outputs[index].type;
    outputs[index].isOnDevice = true;
    // The shapes of free outputs are known after the run only.
    if (variant == SIZE_MAX) continue;
    outputs[index].dims = model.variants[variant].outputs[index];
    outputs[index].bytes = TensorBytes(model.outputs[index].type, outputs[index].dims);
    if (graph.outputRoom[index] < model.OutputBytes(index) || graph.outputs[index] == nullptr) {
      graph.outputs[index] = Runtime::Instance().AllocateOn(device, std::max<size_t>(1, model.OutputBytes(index)));
      graph.outputRoom[index] = model.OutputBytes(index);
      if (graph.outputs[index] == nullptr) return FailWith("out of device memory for the outputs of the graph");
    }
    outputs[index].data = graph.outputs[index];
  }
  return GE_SUCCESS;
}

uint32_t CheckOutputs(const CompiledModel &model, size_t variant, std::vector<GeTensor> &outputs) {
  if (outputs.size() != model.outputs.size()) {
    return FailWith("the graph has " + std::to_string(model.outputs.size()) + " outputs, given are " + std::to_string(outputs.size()));
  }
  for (size_t index = 0; index < outputs.size(); index++) {
    if (outputs[index].data == nullptr || !outputs[index].isOnDevice) return FailWith("output " + std::to_string(index) + " is not on the device");
    outputs[index].type = model.outputs[index].type;
    if (variant == SIZE_MAX) continue;
    const size_t bytes = TensorBytes(model.outputs[index].type, model.variants[variant].outputs[index]);
    if (outputs[index].bytes < bytes) {
      return FailWith("output " + std::to_string(index) + " needs " + std::to_string(bytes) + " bytes, given are " + std::to_string(outputs[index].bytes));
    }
    outputs[index].dims = model.variants[variant].outputs[index];
  }
  return GE_SUCCESS;
}

/** One run of a loaded graph on a stream. */
struct Run {
  std::shared_ptr<Graph> graph;
  std::shared_ptr<LoadedModel> loaded;
  std::vector<GeTensor> inputs;
  std::vector<GeTensor> outputs;
  bool ownsOutputs = false;
  CoreShare cores{};
  std::mutex mutex;
  std::condition_variable changed;
  bool isDone = false;
};

bool StoreOutput(Run &run, size_t index, const TensorView &result, std::string &error) {
  GeTensor &output = run.outputs[index];
  if (output.data == nullptr && run.ownsOutputs) {
    Graph &graph = *run.graph;
    if (graph.outputs[index] == nullptr || graph.outputRoom[index] < result.bytes) {
      if (graph.outputs[index] != nullptr) Runtime::Instance().Free(graph.outputs[index]);
      graph.outputs[index] = Runtime::Instance().AllocateOn(run.loaded->device(), std::max<size_t>(1, result.bytes));
      graph.outputRoom[index] = result.bytes;
    }
    output.data = graph.outputs[index];
    output.bytes = result.bytes;
  }
  if (output.data == nullptr || output.bytes < result.bytes) {
    error = "output " + std::to_string(index) + " needs " + std::to_string(result.bytes) + " bytes, its memory has " + std::to_string(output.bytes);
    return false;
  }
  output.dims = result.dims;
  std::memcpy(output.data, result.data, result.bytes);
  return true;
}

TaskResult Perform(Run &run, Stream &stream) {
  const std::lock_guard turn(run.graph->run);
  const Device &device = run.loaded->device();
  const Runtime::TaskScope scope;
  for (const std::vector<GeTensor> *side : {&run.inputs, &run.outputs}) {
    for (const GeTensor &tensor : *side) {
      if (tensor.isOnDevice && tensor.data != nullptr && tensor.bytes > 0 && !Runtime::Instance().IsDeviceRange(device, tensor.data, tensor.bytes)) {
        return {ACL_ERROR_RT_AICORE_EXCEPTION, "a tensor of the graph is not device memory of device " + std::to_string(device.id) + ", or was freed"};
      }
    }
  }
  return run.loaded->Run(Views(run.inputs), run.cores, &stream, [&run](size_t index, const TensorView &result, std::string &error) {
    return StoreOutput(run, index, result, error);
  });
}

/** The common part of the two runs on a stream; call with the graph's lock, in the default context. */
uint32_t Launch(const Session &session, const std::shared_ptr<Graph> &graph, void *streamPointer, const std::vector<GeTensor> &inputs,
                std::vector<GeTensor> &outputs) {
  Runtime &runtime = Runtime::Instance();
  std::shared_ptr<Stream> stream;
  if (runtime.FindStream(ToHandle(streamPointer), stream) != ACL_SUCCESS) return FailBelow("the graph cannot run on this stream");
  if (runtime.RequireLink(*session.device) != ACL_SUCCESS) return FailBelow("the graph cannot run");
  size_t variant = SIZE_MAX;
  if (PickVariant(*graph->model, inputs, variant) != GE_SUCCESS) return GE_FAILED;
  const Options options = Merge(session, graph.get());
  const std::string &atLoad = Value(graph->loadOptions, "ge.exec.hostInputIndexes");
  for (size_t index = 0; index < inputs.size(); index++) {
    if (!inputs[index].isOnDevice && !IsListed(atLoad.empty() ? Value(options, "ge.exec.hostInputIndexes") : atLoad, index)) {
      return FailWith("input " + std::to_string(index) + " is in host memory and not named in ge.exec.hostInputIndexes");
    }
  }
  const auto run = std::make_shared<Run>();
  run->ownsOutputs = outputs.empty();
  const uint32_t status = outputs.empty() ? ProvideOutputs(*graph, *session.device, variant, outputs) : CheckOutputs(*graph->model, variant, outputs);
  if (status != GE_SUCCESS) return status;
  run->graph = graph;
  run->loaded = graph->loaded;
  run->inputs = inputs;
  run->outputs = outputs;
  run->cores = runtime.SharesOf(*session.device, runtime.LimitStream().get());
  stream->Enqueue({[run](Stream &own) { return Perform(*run, own); }, [run](const TaskResult &) {
                     const std::lock_guard lock(run->mutex);
                     run->isDone = true;
                     run->changed.notify_all();
                   }});
  if (variant != SIZE_MAX) return GE_SUCCESS;
  // The host works out free shapes while it starts the run, so they are known when the call returns.
  std::unique_lock lock(run->mutex);
  run->changed.wait(lock, [&] { return run->isDone; });
  outputs = run->outputs;
  return GE_SUCCESS;
}

uint32_t RunOnHost(Graph &graph, const CoreShare &cores, const std::vector<GeTensor> &inputs, Stream *stream, const GeResults &take) {
  std::vector<std::vector<char>> bytes;
  std::vector<GeTensor> outputs;
  const std::lock_guard turn(graph.run);
  const TaskResult result = graph.loaded->Run(Views(inputs), cores, stream, [&](size_t index, const TensorView &output, std::string &) {
    const char *data = static_cast<const char *>(output.data);
    bytes.emplace_back(data, data + output.bytes);
    GeTensor tensor;
    tensor.bytes = output.bytes;
    tensor.type = graph.model->outputs[index].type;
    tensor.dims = output.dims;
    outputs.push_back(std::move(tensor));
    return true;
  });
  if (result.code != ACL_SUCCESS) {
    Fail(result.code, result.text);
    FailBelow("the graph failed");
    outputs.clear();
    take(GE_FAILED, outputs);
    return GE_FAILED;
  }
  for (size_t index = 0; index < outputs.size(); index++) outputs[index].data = bytes[index].data();
  take(GE_SUCCESS, outputs);
  return GE_SUCCESS;
}

uint32_t PrepareHostRun(uint64_t sessionId, uint32_t graphId, const std::vector<GeTensor> &inputs, std::shared_ptr<Session> &session,
                        std::shared_ptr<Graph> &graph) {
  if (FindGraph(sessionId, graphId, session, graph) != GE_SUCCESS) return GE_FAILED;
  const std::lock_guard lock(graph->mutex);
  if (graph->style == Style::Compile) return FailWith("a graph compiled with CompileGraph is not run with RunGraph or RunGraphAsync");
  if (EnsureCompiled(*session, *graph) != GE_SUCCESS) return GE_FAILED;
  graph->style = Style::Build;
  size_t variant = 0;
  if (PickVariant(*graph->model, inputs, variant) != GE_SUCCESS) return GE_FAILED;
  return EnsureLoaded(*session, *graph);
}

CoreShare CoresOf(const Session &session) {
  return Runtime::Instance().SharesOf(*session.device, Runtime::Instance().LimitStream().get());
}

}  // namespace

const char *GeErrorText() { return ThreadText().c_str(); }
uint32_t GeFail(const char *text) { return FailWith(text); }

uint32_t GeInitialize(const GeOptions &options) {
  if (Runtime::Instance().RequireCards() != ACL_SUCCESS) return FailBelow("GE cannot start");
  if (HasEmptyKey(options)) return FailWith("an option has an empty key");
  Engine &engine = TheEngine();
  const std::lock_guard lock(engine.mutex);
  // A second call succeeds and its options are ignored.
  if (engine.isInitialized) return GE_SUCCESS;
  Options parsed = ToOptions(options);
  if (!CheckOptions(parsed)) return GE_FAILED;
  if (const std::string &cores = Value(parsed, "ge.aicoreNum"); !cores.empty() && Runtime::Instance().deviceCount() > 0) {
    int cube = 0;
    int vector = 0;
    std::string error;
    if (!ParseCores(cores, Runtime::Instance().FindDevice(0)->profile, cube, vector, error)) return FailWith(error);
  }
  engine.options = std::move(parsed);
  engine.isInitialized = true;
  return GE_SUCCESS;
}

uint32_t GeFinalize() {
  Engine &engine = TheEngine();
  const std::lock_guard lock(engine.mutex);
  engine.isInitialized = false;
  engine.options.clear();
  return GE_SUCCESS;
}

uint32_t GeCheckOnnx(const void *onnx, size_t bytes) {
  std::string error;
  return OnnxSession::Create(onnx, bytes, error) == nullptr ? FailWith("the ONNX model cannot be parsed: " + error) : GE_SUCCESS;
}

uint32_t GeReadFile(const char *path, const GeBytes &take) {
  std::string content;
  if (path == nullptr || !ReadWholeFile(path, content)) return FailWith(std::string("the model file cannot be read: ") + (path == nullptr ? "" : path));
  take(content.data(), content.size());
  return GE_SUCCESS;
}

uint32_t GeBuildOm(const GeGraphSource &graph, const GeOptions &given, const GeBytes &take) {
  const Options options = ToOptions(given);
  const Options params = ToOptions(graph.parserParams);
  if (!CheckOptions(options)) return GE_FAILED;
  // Both the option's key and atc's word for it are taken.
  const auto pick = [&options](const char *key, const char *word) { return Value(options, key).empty() ? Value(options, word) : Value(options, key); };
  CompileRequest request;
  request.name = graph.name;
  request.soc = pick("ge.socVersion", "soc_version");
  if (request.soc.empty() && Runtime::Instance().deviceCount() > 0) request.soc = Runtime::Instance().FindDevice(0)->profile.soc;
  request.inputShape = pick("input_shape", "ge.inputShape");
  if (request.inputShape.empty()) request.inputShape = Value(params, "input_shape");
  request.aicoreNum = pick("ge.aicoreNum", "aicore_num");
  request.inputFormat = pick("input_format", "ge.inputFormat");
  for (const auto &[kind, key, word] : {std::tuple{GearKind::Batch, "ge.dynamicBatchSize", "dynamic_batch_size"},
                                        {GearKind::Image, "ge.dynamicImageSize", "dynamic_image_size"},
                                        {GearKind::Dims, "ge.dynamicDims", "dynamic_dims"}}) {
    const std::string value = pick(key, word);
    if (value.empty()) continue;
    if (request.gearKind != GearKind::None) return FailWith("only one kind of gears may be given");
    request.gearKind = kind;
    request.gears = value;
  }
  std::string error;
  const auto model = Compile(std::string(static_cast<const char *>(graph.onnx), graph.bytes), request, error);
  if (model == nullptr) return FailWith("the model cannot be built: " + error);
  Sleep(CompileSeconds(*model));
  const std::string om = WriteOm(*model);
  take(om.data(), om.size());
  return GE_SUCCESS;
}

uint64_t GeCreateSession(const GeOptions &given) {
  Engine &engine = TheEngine();
  auto session = std::make_shared<Session>();
  session->options = ToOptions(given);
  {
    const std::lock_guard lock(engine.mutex);
    if (!engine.isInitialized) {
      FailWith("GE is not initialised: call GEInitialize first");
      return 0;
    }
  }
  const Options merged = Merge(*session, nullptr);
  if (HasEmptyKey(given) || !CheckOptions(merged)) return 0;
  const std::string &ofSession = Value(merged, "ge.session_device_id");
  const std::string &ofProcess = Value(merged, "ge.exec.deviceId");
  const std::string &wanted = ofSession.empty() ? ofProcess : ofSession;
  const int id = wanted.empty() || wanted == "-1" ? 0 : std::atoi(wanted.c_str());
  Runtime &runtime = Runtime::Instance();
  session->device = runtime.FindDevice(id);
  if (session->device == nullptr) {
    FailWith("device " + std::to_string(id) + " does not exist");
    return 0;
  }
  if (!session->device->profile.hasOnlineGe) {
    FailWith("online sessions are not supported on " + session->device->profile.soc + ": convert the model to an .om file");
    return 0;
  }
  int cube = 0;
  int vector = 0;
  std::string error;
  if (!ParseCores(Value(merged, "ge.aicoreNum"), session->device->profile, cube, vector, error)) {
    FailWith(error);
    return 0;
  }
  // The device stays set as long as the session lives; the thread is left on a context of GE's own.
  if (runtime.SetDevice(id) != ACL_SUCCESS || runtime.EnterPrivateContext(id, session->privateContext) != ACL_SUCCESS) {
    FailBelow("the session cannot open its device");
    return 0;
  }
  session->worker = std::make_unique<Stream>(0, 0, id);
  const std::lock_guard lock(engine.mutex);
  engine.sessions.emplace(engine.next, std::move(session));
  return engine.next++;
}

void GeDestroySession(uint64_t id) {
  Engine &engine = TheEngine();
  std::shared_ptr<Session> session;
  {
    const std::lock_guard lock(engine.mutex);
    const auto found = engine.sessions.find(id);
    if (found == engine.sessions.end()) return;
    session = std::move(found->second);
    engine.sessions.erase(found);
  }
  session->worker->Stop(false);
  {
    const std::lock_guard lock(session->mutex);
    session->graphs.clear();
  }
  Runtime::Instance().DropContext(session->privateContext);
  // Only if nobody reset the device by force meanwhile.
  if (Runtime::Instance().DefaultContext(session->device->id) != 0) Runtime::Instance().ResetDevice(session->device->id, false);
}

uint32_t GeAddGraph(uint64_t sessionId, uint32_t graphId, const GeGraphSource &source, const GeOptions &options) {
  std::shared_ptr<Session> session;
  if (FindSession(sessionId, session) != GE_SUCCESS) return GE_FAILED;
  if (HasEmptyKey(options)) return FailWith("an option has an empty key");
  if (source.bytes == 0) return FailWith("the graph is empty: parse a model into it first");
  auto graph = std::make_shared<Graph>();
  graph->onnx.assign(static_cast<const char *>(source.onnx), source.bytes);
  graph->name = source.name;
  graph->parserParams = ToOptions(source.parserParams);
  graph->options = ToOptions(options);
  if (!CheckOptions(Merge(*session, graph.get()))) return GE_FAILED;
  const std::lock_guard lock(session->mutex);
  // Of a repeated id only the first is kept.
  session->graphs.emplace(graphId, std::move(graph));
  return GE_SUCCESS;
}

uint32_t GeRemoveGraph(uint64_t sessionId, uint32_t graphId) {
  std::shared_ptr<Session> session;
  std::shared_ptr<Graph> graph;
  if (FindGraph(sessionId, graphId, session, graph) != GE_SUCCESS) return GE_FAILED;
  const std::lock_guard lock(session->mutex);
  session->graphs.erase(graphId);
  return GE_SUCCESS;
}

uint32_t GeCompileGraph(uint64_t sessionId, uint32_t graphId) {
  std::shared_ptr<Session> session;
  std::shared_ptr<Graph> graph;
  if (FindGraph(sessionId, graphId, session, graph) != GE_SUCCESS) return GE_FAILED;
  const std::lock_guard lock(graph->mutex);
  if (graph->style == Style::Build) return FailWith("the graph was built for RunGraph: CompileGraph does not go with it");
  if (EnsureCompiled(*session, *graph) != GE_SUCCESS) return GE_FAILED;
  graph->style = Style::Compile;
  return GE_SUCCESS;
}

uint32_t GeBuildGraph(uint64_t sessionId, uint32_t graphId) {
  std::shared_ptr<Session> session;
  std::shared_ptr<Graph> graph;
  if (FindGraph(sessionId, graphId, session, graph) != GE_SUCCESS) return GE_FAILED;
  const std::lock_guard lock(graph->mutex);
  if (graph->style == Style::Compile) return FailWith("the graph was compiled with CompileGraph: BuildGraph does not go with it");
  if (EnsureCompiled(*session, *graph) != GE_SUCCESS) return GE_FAILED;
  graph->style = Style::Build;
  return GE_SUCCESS;
}

bool GeSummarize(uint64_t sessionId, uint32_t graphId, GeSummary &summary) {
  std::shared_ptr<Session> session;
  std::shared_ptr<Graph> graph;
  if (FindGraph(sessionId, graphId, session, graph) != GE_SUCCESS) return false;
  const std::lock_guard lock(graph->mutex);
  if (graph->model == nullptr || graph->style != Style::Compile) {
    FailWith("the graph is not compiled");
    return false;
  }
  const CompiledModel &model = *graph->model;
  summary.isStatic = !model.IsDynamic();
  summary.constBytes = model.WeightBytes();
  summary.featureBytes = model.IsDynamic() ? 0 : model.WorkBytes();
  for (size_t index = 0; index < model.outputs.size(); index++) {
    summary.outputShapes.push_back(model.IsDynamic() ? model.outputs[index].dims : model.variants[model.LargestVariant()].outputs[index]);
    summary.outputTypes.push_back(model.outputs[index].type);
  }
  return true;
}

uint32_t GeLoadGraph(uint64_t sessionId, uint32_t graphId, const GeOptions &options, void *stream) {
  std::shared_ptr<Session> session;
  std::shared_ptr<Graph> graph;
  if (FindGraph(sessionId, graphId, session, graph) != GE_SUCCESS) return GE_FAILED;
  const std::lock_guard lock(graph->mutex);
  if (graph->style != Style::Compile || graph->model == nullptr) return FailWith("the graph is not compiled: call CompileGraph first");
  if (graph->loaded != nullptr) return FailWith("the graph is loaded already: LoadGraph is called once");
  // Seen on real cards: a core number on the graph compiles and then fails here.
  if (!Value(graph->options, "ge.aicoreNum").empty()) return FailWith("GetPlatformInfo failed: give ge.aicoreNum to GEInitialize or to the session");
  const DefaultContextCall context(*session->device);
  if (!context.isGood()) return FailBelow("the graph cannot be loaded");
  std::shared_ptr<Stream> found;
  if (Runtime::Instance().FindStream(ToHandle(stream), found) != ACL_SUCCESS) return FailBelow("the graph cannot be loaded on this stream");
  if (EnsureLoaded(*session, *graph) != GE_SUCCESS) return GE_FAILED;
  graph->loadOptions = ToOptions(options);
  return GE_SUCCESS;
}

uint32_t GeExecute(uint64_t sessionId, uint32_t graphId, void *stream, const std::vector<GeTensor> &inputs, std::vector<GeTensor> &outputs) {
  std::shared_ptr<Session> session;
  std::shared_ptr<Graph> graph;
  if (FindGraph(sessionId, graphId, session, graph) != GE_SUCCESS) return GE_FAILED;
  const std::lock_guard lock(graph->mutex);
  if (graph->loaded == nullptr || graph->style != Style::Compile) return FailWith("the graph is not loaded: call CompileGraph and LoadGraph first");
  const DefaultContextCall context(*session->device);
  if (!context.isGood()) return FailBelow("the graph cannot run");
  return Launch(*session, graph, stream, inputs, outputs);
}

uint32_t GeRunWithStream(uint64_t sessionId, uint32_t graphId, void *stream, const std::vector<GeTensor> &inputs, std::vector<GeTensor> &outputs) {
  std::shared_ptr<Session> session;
  std::shared_ptr<Graph> graph;
  if (FindGraph(sessionId, graphId, session, graph) != GE_SUCCESS) return GE_FAILED;
  const std::lock_guard lock(graph->mutex);
  if (graph->style == Style::Build) return FailWith("the graph was built for RunGraph: it is not run on a stream");
  if (EnsureCompiled(*session, *graph) != GE_SUCCESS) return GE_FAILED;
  graph->style = Style::Compile;
  const DefaultContextCall context(*session->device);
  if (!context.isGood()) return FailBelow("the graph cannot run");
  if (EnsureLoaded(*session, *graph) != GE_SUCCESS) return GE_FAILED;
  return Launch(*session, graph, stream, inputs, outputs);
}

uint32_t GeRun(uint64_t sessionId, uint32_t graphId, const std::vector<GeTensor> &inputs, const GeResults &take) {
  std::shared_ptr<Session> session;
  std::shared_ptr<Graph> graph;
  if (PrepareHostRun(sessionId, graphId, inputs, session, graph) != GE_SUCCESS) return GE_FAILED;
  return RunOnHost(*graph, CoresOf(*session), inputs, nullptr, take);
}

uint32_t GeRunAsync(uint64_t sessionId, uint32_t graphId, const std::vector<GeTensor> &inputs, const GeResults &take) {
  std::shared_ptr<Session> session;
  std::shared_ptr<Graph> graph;
  if (PrepareHostRun(sessionId, graphId, inputs, session, graph) != GE_SUCCESS) return GE_FAILED;
  // The caller may let go of its tensors when this returns.
  const auto copies = std::make_shared<std::vector<std::vector<char>>>();
  const auto own = std::make_shared<std::vector<GeTensor>>(inputs);
  for (GeTensor &input : *own) {
    const char *data = static_cast<const char *>(input.data);
    copies->emplace_back(data, data + input.bytes);
    input.data = copies->back().data();
  }
  session->worker->Enqueue({[graph, own, copies, take, cores = CoresOf(*session)](Stream &stream) {
                              RunOnHost(*graph, cores, *own, &stream, take);
                              return TaskResult();
                            },
                            {}});
  return GE_SUCCESS;
}

}  // namespace simulator
