// Loading and running GE's graphs.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>

#include "core/call_log.h"
#include "core/errors.h"
#include "core/ge_state.h"

namespace simulator {

using namespace ge;

namespace {

/** While it lives, the calling thread works in the default context of the device, as GE's load and run calls do; it stays there afterwards. */
class DefaultContextCall {
 public:
  explicit DefaultContextCall(const Device &device) : device_(device), code_(Runtime::Instance().SetDevice(device.id)), generation_(device.generation) {}
  ~DefaultContextCall() {
    if (code_ == ACL_SUCCESS && device_.generation == generation_) Runtime::Instance().ResetDevice(device_.id, false);
  }
  DefaultContextCall(const DefaultContextCall &) = delete;
  DefaultContextCall &operator=(const DefaultContextCall &) = delete;
  bool isGood() const { return code_ == ACL_SUCCESS; }

 private:
  const Device &device_;
  const aclError code_;
  const uint64_t generation_;
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
  TaskResult result;
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

/** "[1,4][2]" */
std::string ShapesText(const std::vector<GeTensor> &tensors) {
  std::string text;
  for (const GeTensor &tensor : tensors) {
    text += '[';
    for (size_t axis = 0; axis < tensor.dims.size(); axis++) text += (axis == 0 ? "" : ",") + std::to_string(tensor.dims[axis]);
    text += ']';
  }
  return text;
}

TaskResult Perform(Run &run, Stream &stream) {
  const std::lock_guard turn(run.graph->run);
  const Device &device = run.loaded->device();
  const CompiledModel &model = *run.graph->model;
  const NotedTask noted("run", device.id, stream.handle(),
                        {{"inputs", ShapesText(run.inputs)},
                         {"outputs", run.ownsOutputs ? "of GE" : "of the caller"},
                         {"cores", std::to_string(model.IsDynamic() ? run.cores.cube : model.cubeCores) + "|" +
                                       std::to_string(model.IsDynamic() ? run.cores.vector : model.vectorCores)}});
  const Runtime::TaskScope scope;
  if (!run.loaded->IsUsable()) return {ACL_ERROR_RT_CONTEXT_NULL, "device " + std::to_string(device.id) + " was reset after the graph was loaded"};
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
  if (!graph->loaded->IsUsable()) return FailWith("the graph cannot run: device " + std::to_string(session.device->id) + " was reset after it was loaded");
  if (runtime.FindStream(ToHandle(streamPointer), stream) != ACL_SUCCESS) return FailBelow("the graph cannot run on this stream");
  if (runtime.RequireLink(*session.device, FaultPoint::Run) != ACL_SUCCESS) return FailBelow("the graph cannot run");
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
  stream->Enqueue({[run](Stream &own) { return Perform(*run, own); }, [run](const TaskResult &result) {
                     const std::lock_guard lock(run->mutex);
                     run->isDone = true;
                     run->result = result;
                     run->changed.notify_all();
                   }});
  if (variant != SIZE_MAX) return GE_SUCCESS;
  // The host works out free shapes while it starts the run, so they are known when the call returns; a run that fails meanwhile has none.
  Runtime::Heartbeat heartbeat(*session.device);
  std::unique_lock lock(run->mutex);
  while (!run->changed.wait_for(lock, std::chrono::milliseconds(20), [&] { return run->isDone; })) {
    if (!heartbeat.IsLost()) continue;
    run->result = FaultResult(FaultKind::Hang, FaultPoint::Run, "device " + std::to_string(session.device->id));
    break;
  }
  if (run->result.code != ACL_SUCCESS) {
    Fail(run->result.code, run->result.text);
    return FailBelow("the graph failed");
  }
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
  Note([&] { return Call{"LoadGraph", session->device->id, sessionId, graphId, ToHandle(stream), graph->loadOptions}; });
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
