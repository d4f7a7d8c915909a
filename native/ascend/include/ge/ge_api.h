// GE's session interface (V1) as we call it, declared in our own words.
#pragma once

#include <map>
#include <vector>

#include "exe_graph/runtime/tensor.h"
#include "ge/ge_api_types.h"
#include "ge/ge_graph_compile_summary.h"
#include "graph/graph.h"

namespace ge {

/** A second call succeeds and ignores its options. */
GE_API Status GEInitialize(const std::map<AscendString, AscendString> &options);
/** Succeeds also when GE was never initialised. */
GE_API Status GEFinalize();
GE_API AscendString GEGetErrorMsgV2();
GE_API AscendString GEGetWarningMsgV2();

class GE_API Session {
 public:
  /** Fails without a word: ask GetSessionId. Leaves the calling thread on a private context of GE's. */
  explicit Session(const std::map<AscendString, AscendString> &options);
  ~Session();
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;

  Status AddGraph(uint32_t graph_id, const Graph &graph);
  Status AddGraph(uint32_t graph_id, const Graph &graph, const std::map<AscendString, AscendString> &options);
  Status AddGraphWithCopy(uint32_t graph_id, const Graph &graph, const std::map<AscendString, AscendString> &options);
  Status RemoveGraph(uint32_t graph_id);
  Status CompileGraph(uint32_t graph_id);
  CompiledGraphSummaryPtr GetCompiledGraphSummary(uint32_t graph_id);
  Status LoadGraph(const uint32_t graph_id, const std::map<AscendString, AscendString> &options, void *stream) const;
  Status ExecuteGraphWithStreamAsync(uint32_t graph_id, void *stream, const std::vector<gert::Tensor> &inputs,
                                     std::vector<gert::Tensor> &outputs);
  Status RunGraphWithStreamAsync(uint32_t graph_id, void *stream, const std::vector<Tensor> &inputs, std::vector<Tensor> &outputs);
  Status RunGraph(uint32_t graph_id, const std::vector<Tensor> &inputs, std::vector<Tensor> &outputs);
  Status RunGraphAsync(uint32_t graph_id, const std::vector<Tensor> &inputs, RunAsyncCallback callback);
  Status BuildGraph(uint32_t graph_id, const std::vector<Tensor> &inputs);
  uint64_t GetSessionId() const;

 private:
  uint64_t sessionId_ = 0;
};

}  // namespace ge

/** The same two calls with C names, for packages before 8.0.RC3: look them up to see whether the feature is there. */
extern "C" {
GE_API ge::Status GeSessionLoadGraph(ge::Session &session, uint32_t graph_id, const std::map<ge::AscendString, ge::AscendString> &options,
                                     void *stream);
GE_API ge::Status GeSessionExecuteGraphWithStreamAsync(ge::Session &session, uint32_t graph_id, void *stream,
                                                       const std::vector<gert::Tensor> &inputs, std::vector<gert::Tensor> &outputs);
}
