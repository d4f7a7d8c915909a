// Compiling GE's graphs: the options' rules, the two caches, in-process .om files, the summary.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "core/call_log.h"
#include "core/ge_state.h"
#include "core/om_file.h"

namespace simulator {

using namespace ge;

namespace {

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

/** GE leaves files in the current directory of the thread that compiles, wherever that is. Their real names are not published. */
void WriteMeta(const std::string &graph) { std::ofstream("simulated_ge_meta_" + graph + ".json") << "{\"graph\": \"" << graph << "\"}\n"; }

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

}  // namespace

namespace ge {

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

}  // namespace ge

uint32_t GeCheckOnnx(const void *onnx, size_t bytes) {
  std::string error;
  return OnnxSession::Create(onnx, bytes, error) == nullptr ? FailWith("the ONNX model cannot be parsed: " + error) : GE_SUCCESS;
}

void GeNoteParse(const char *parser, const char *path, const GeOptions &params) {
  Note([&] {
    Call call{parser, -1, 0, 0, 0, ToOptions(params)};
    call.facts["file"] = path == nullptr ? "" : path;
    return call;
  });
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

uint32_t GeCompileGraph(uint64_t sessionId, uint32_t graphId) {
  std::shared_ptr<Session> session;
  std::shared_ptr<Graph> graph;
  if (FindGraph(sessionId, graphId, session, graph) != GE_SUCCESS) return GE_FAILED;
  const std::lock_guard lock(graph->mutex);
  if (graph->style == Style::Build) return FailWith("the graph was built for RunGraph: CompileGraph does not go with it");
  if (EnsureCompiled(*session, *graph) != GE_SUCCESS) return GE_FAILED;
  graph->style = Style::Compile;
  WriteMeta(graph->name);
  Note([&] { return Call{"CompileGraph", session->device->id, sessionId, graphId, 0, {}}; });
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

}  // namespace simulator
