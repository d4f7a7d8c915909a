// GE's rules: initialisation, sessions, graphs from AddGraph to the run. The libraries with GE's names are compiled with the old string ABI and
// only translate, so nothing here takes or gives a std::string.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace simulator {

struct GeOption {
  const char *key;
  const char *value;
};
using GeOptions = std::vector<GeOption>;

constexpr uint32_t GE_SUCCESS = 0;
constexpr uint32_t GE_FAILED = 0xFFFFFFFF;

/** A tensor of a run. As an output with `data` null: to be allocated by GE. */
struct GeTensor {
  void *data = nullptr;
  size_t bytes = 0;
  int32_t type = 0;
  bool isOnDevice = false;
  std::vector<int64_t> dims;
};

struct GeSummary {
  bool isStatic = false;
  size_t constBytes = 0;
  size_t featureBytes = 0;
  std::vector<std::vector<int64_t>> outputShapes;
  std::vector<int32_t> outputTypes;
};

/** A graph as the parser left it. */
struct GeGraphSource {
  const char *name;
  const void *onnx;
  size_t bytes;
  GeOptions parserParams;
};

using GeBytes = std::function<void(const void *data, size_t bytes)>;
using GeResults = std::function<void(uint32_t status, std::vector<GeTensor> &outputs)>;

uint32_t GeInitialize(const GeOptions &options);
uint32_t GeFinalize();
/** The newest error of the calling thread; "" when there is none. */
const char *GeErrorText();

/** Whether ONNX Runtime takes the model. */
uint32_t GeCheckOnnx(const void *onnx, size_t bytes);
/** Hands a whole file over. */
uint32_t GeReadFile(const char *path, const GeBytes &take);
/** Takes down that a parser was called, with which file and parameters. */
void GeNoteParse(const char *parser, const char *path, const GeOptions &params);
/** Compiles to the bytes of an .om file. */
uint32_t GeBuildOm(const GeGraphSource &graph, const GeOptions &options, const GeBytes &take);
/** For a failure that the translating library finds itself. */
uint32_t GeFail(const char *text);

/** @returns 0 when it fails. Leaves the thread on a private context. */
uint64_t GeCreateSession(const GeOptions &options);
void GeDestroySession(uint64_t session);
uint32_t GeAddGraph(uint64_t session, uint32_t graph, const GeGraphSource &source, const GeOptions &options);
uint32_t GeRemoveGraph(uint64_t session, uint32_t graph);
uint32_t GeCompileGraph(uint64_t session, uint32_t graph);
uint32_t GeBuildGraph(uint64_t session, uint32_t graph);
bool GeSummarize(uint64_t session, uint32_t graph, GeSummary &summary);
uint32_t GeLoadGraph(uint64_t session, uint32_t graph, const GeOptions &options, void *stream);
/** Outputs empty: GE allocates them, with the life of the graph. Shapes are filled in either way. */
uint32_t GeExecute(uint64_t session, uint32_t graph, void *stream, const std::vector<GeTensor> &inputs, std::vector<GeTensor> &outputs);
/** As GeExecute, and compiles and loads on demand. */
uint32_t GeRunWithStream(uint64_t session, uint32_t graph, void *stream, const std::vector<GeTensor> &inputs, std::vector<GeTensor> &outputs);
/** Host tensors; the outputs are valid during `take` only. */
uint32_t GeRun(uint64_t session, uint32_t graph, const std::vector<GeTensor> &inputs, const GeResults &take);
uint32_t GeRunAsync(uint64_t session, uint32_t graph, const std::vector<GeTensor> &inputs, const GeResults &take);

}  // namespace simulator
