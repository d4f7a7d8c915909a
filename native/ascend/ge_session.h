// A GE session with its graphs, ready to run. The order of calls and the rules about contexts that GE needs hold by construction here and nowhere else:
//  - Session, AddGraph and CompileGraph come first; GE leaves the thread on a private context of its own;
//  - then the device's default context is made current again, and only then the stream is created, in that context;
//  - then LoadGraph, once per graph, on the stream that it will run on;
//  - each run makes the default context current on its thread first, and again after GE's call;
//  - the end: streams are waited for, graphs removed, streams destroyed, then the session; the device's own reference is Device's.
// One graph is one stream is one run at a time; more at once need more graphs.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ascend/device.h"
#include "ascend/ge_library.h"
#include "ascend/stream.h"

namespace npu_console::ascend {

/** What to compile, and how. */
struct GePlan {
  /** For messages: "model 'x'" */
  std::string name;
  /** Absolute. */
  std::string file;
  NpuGeModelFormat format = NPU_GE_ONNX;
  GeOptionMap parser_options;
  GeOptionMap session_options;
  GeOptionMap graph_options;
};

class GeSession;

/** One compiled and loaded copy of the model with its stream. */
class GeGraph {
 public:
  Stream& stream() { return *stream_; }
  const NpuGeSummary& summary() const { return summary_; }
  /** Type and shape of each output; -1: open. */
  const std::vector<NpuGeTensor>& outputs() const { return outputs_; }

  /**
   * Starts a run; its end and its errors come with stream().Synchronize. Used by one thread at a time.
   * @param outputs with memory of the device, or empty: GE allocates, until the next run of this graph
   * @throws Error
   */
  void Execute(const std::vector<NpuGeTensor>& inputs, std::vector<NpuGeTensor>& outputs);

 private:
  friend class GeSession;
  GeGraph(GeSession& session, uint32_t id) : session_(session), id_(id) {}

  GeSession& session_;
  const uint32_t id_;
  std::unique_ptr<Stream> stream_;
  NpuGeSummary summary_{};
  std::vector<NpuGeTensor> outputs_;
};

class GeSession {
 public:
  /**
   * Compiles and loads. Takes seconds to minutes; the calling thread is on the device's default context afterwards.
   * @param graph_count how many runs may go on at once
   * @throws Error
   */
  GeSession(const GeLibrary& library, std::shared_ptr<Device> device, const GePlan& plan, int graph_count);
  ~GeSession();
  GeSession(const GeSession&) = delete;
  GeSession& operator=(const GeSession&) = delete;

  Device& device() { return *device_; }
  std::vector<std::unique_ptr<GeGraph>>& graphs() { return graphs_; }

 private:
  friend class GeGraph;
  void Build(const GePlan& plan, int graph_count);
  void TearDown() noexcept;
  /** Throws what a failed call of GE means; a lost card is noted. */
  void Check(uint32_t status, const std::string& action);

  const GeLibrary& library_;
  const std::shared_ptr<Device> device_;
  NpuGeSession* session_ = nullptr;
  std::vector<std::unique_ptr<GeGraph>> graphs_;
};

}  // namespace npu_console::ascend
