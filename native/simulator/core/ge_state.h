// What GE's sessions and graphs are made of: shared by the files that keep, compile and run them.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/loaded_model.h"
#include "core/ge_engine.h"
#include "core/runtime.h"

namespace simulator::ge {

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
  /** The device's when the session set it: a device that was reset by force since then is not this session's to reset. */
  uint64_t generation = 0;
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

Engine &TheEngine();

/** Notes the text for GeErrorText. @returns GE_FAILED */
uint32_t FailWith(const std::string &text);
/** As FailWith, for a failure of the runtime below: with its code and text. */
uint32_t FailBelow(const char *what);

Options ToOptions(const GeOptions &options);
/** "" for an option that was not given. */
const std::string &Value(const Options &options, const char *key);
/** Graph before session before global. */
Options Merge(const Session &session, const Graph *graph);
/** @returns false, with the text noted, when a value is none of the option's or two options exclude each other */
bool CheckOptions(const Options &options);

uint32_t FindSession(uint64_t id, std::shared_ptr<Session> &session);
uint32_t FindGraph(uint64_t sessionId, uint32_t graphId, std::shared_ptr<Session> &session, std::shared_ptr<Graph> &graph);

/** Compiles the graph if it is not yet; call with the graph's lock. */
uint32_t EnsureCompiled(const Session &session, Graph &graph);

}  // namespace simulator::ge
