// GE's initialisation, its sessions and the graphs in them.
#include <algorithm>
#include <cstdlib>

#include "core/call_log.h"
#include "core/errors.h"
#include "core/ge_state.h"

namespace simulator {

namespace ge {

Engine &TheEngine() {
  static Engine *engine = new Engine();
  return *engine;
}

namespace {

std::string &ThreadText() {
  thread_local std::string text;
  return text;
}

}  // namespace

uint32_t FailWith(const std::string &text) {
  ThreadText() = "E19999: [simulated] " + text;
  return GE_FAILED;
}

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

}  // namespace ge

using namespace ge;

namespace {

bool HasEmptyKey(const GeOptions &options) {
  return std::any_of(options.begin(), options.end(), [](const GeOption &option) { return option.key[0] == 0; });
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
  Note([&] {
    Call call{"GEInitialize", -1, 0, 0, 0, engine.options};
    // What GE reads besides its options, when it starts.
    for (const char *name : {"DUMP_GE_GRAPH", "DUMP_GRAPH_LEVEL", "DUMP_GRAPH_PATH", "PROFILING_MODE"}) {
      if (const char *value = std::getenv(name); value != nullptr) call.facts[std::string("env:") + name] = value;
    }
    return call;
  });
  return GE_SUCCESS;
}

uint32_t GeFinalize() {
  Engine &engine = TheEngine();
  const std::lock_guard lock(engine.mutex);
  engine.isInitialized = false;
  engine.options.clear();
  Note([] { return Call{"GEFinalize", -1, 0, 0, 0, {}}; });
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
  session->generation = session->device->generation;
  session->worker = std::make_unique<Stream>(0, 0, id);
  const std::lock_guard lock(engine.mutex);
  Note([&] { return Call{"Session", id, engine.next, 0, 0, session->options}; });
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
  Note([&] { return Call{"~Session", session->device->id, id, 0, 0, {}}; });
  session->worker->Stop(false);
  {
    const std::lock_guard lock(session->mutex);
    session->graphs.clear();
  }
  Runtime::Instance().DropContext(session->privateContext);
  // Only if nobody reset the device by force meanwhile: others may have set it again.
  if (session->device->generation == session->generation) Runtime::Instance().ResetDevice(session->device->id, false);
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
  Note([&] { return Call{"AddGraph", session->device->id, sessionId, graphId, 0, graph->options}; });
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
  Note([&] { return Call{"RemoveGraph", session->device->id, sessionId, graphId, 0, {}}; });
  return GE_SUCCESS;
}

}  // namespace simulator
