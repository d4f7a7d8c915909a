#include "ascend/ge_session.h"

#include <utility>

namespace npu_console::ascend {

namespace {

/** How long the end of a session waits for a run that still goes on. */
constexpr auto LAST_RUN_LIMIT = std::chrono::seconds(5);

}  // namespace

GeSession::GeSession(const GeLibrary& library, std::shared_ptr<Device> device, const GePlan& plan, int graph_count)
    : library_(library), device_(std::move(device)) {
  try {
    Build(plan, graph_count);
  } catch (...) {
    TearDown();
    throw;
  }
}

GeSession::~GeSession() { TearDown(); }

void GeSession::Build(const GePlan& plan, int graph_count) {
  const std::string where = plan.name + " on device " + std::to_string(device_->id());
  GeOptionMap session_options = plan.session_options;
  session_options["ge.session_device_id"] = std::to_string(device_->id());
  device_->Use();
  const GeOptionList of_session(session_options);
  const uint32_t opened = library_.bridge.session_new(of_session.get(), &session_);
  if (opened == 0 && session_ == nullptr) throw Error(ErrorKind::Internal, "opening a session for " + where + " gave no session");
  Check(opened, "opening a session for " + where);

  const GeOptionList of_parser(plan.parser_options);
  const GeOptionList of_graph(plan.graph_options);
  for (int index = 0; index < graph_count; ++index) {
    // GE numbers graphs per session; 0 is left out, since some of its parts take it for none.
    const auto id = static_cast<uint32_t>(index + 1);
    Check(library_.bridge.add_graph(session_, id, plan.format, plan.file.c_str(), of_parser.get(), of_graph.get()), "reading " + plan.file + " for " + where);
    graphs_.push_back(std::unique_ptr<GeGraph>(new GeGraph(*this, id)));
    GeGraph& graph = *graphs_.back();
    Check(library_.bridge.compile_graph(session_, id), "compiling " + where);
    Check(library_.bridge.summarize(session_, id, &graph.summary_), "asking for the summary of " + where);
    for (uint32_t output = 0; output < graph.summary_.output_count; ++output) {
      NpuGeTensor& described = graph.outputs_.emplace_back();
      Check(library_.bridge.describe_output(session_, id, output, &described), "asking for the outputs of " + where);
    }
  }
  // All graphs are compiled: from the private context of GE back to the device's own, in which streams have to be.
  for (const auto& graph : graphs_) {
    graph->stream_ = std::make_unique<Stream>(device_);
    Check(library_.bridge.load_graph(session_, graph->id_, {nullptr, 0}, graph->stream_->handle()), "loading " + where);
    device_->Use();
  }
}

void GeSession::TearDown() noexcept {
  if (session_ == nullptr) return;
  for (const auto& graph : graphs_) {
    if (device_->is_faulty() || !device_->TryUse()) break;
    // Whoever waited for a run that still goes on was told; what is left is to let go of it.
    if (graph->stream_ != nullptr) graph->stream_->Settle(std::chrono::duration_cast<std::chrono::milliseconds>(LAST_RUN_LIMIT));
  }
  for (const auto& graph : graphs_) {
    device_->TryUse();
    library_.bridge.remove_graph(session_, graph->id_);
  }
  device_->TryUse();
  graphs_.clear();
  device_->TryUse();
  library_.bridge.session_delete(std::exchange(session_, nullptr));
  device_->TryUse();
}

void GeSession::Check(uint32_t status, const std::string& action) {
  if (status == 0) return;
  Error error = library_.Failure(action, status);
  if (error.scope() == FaultScope::Device) device_->ReportFault(error.what());
  throw error;
}

void GeGraph::Execute(const std::vector<NpuGeTensor>& inputs, std::vector<NpuGeTensor>& outputs) {
  Device& device = session_.device();
  device.Use();
  const size_t given = outputs.size();
  size_t count = given;
  if (count == 0) outputs.resize(outputs_.empty() ? NPU_GE_MAX_RANK : outputs_.size());
  const uint32_t status =
      session_.library_.bridge.execute(session_.session_, id_, stream_->handle(), inputs.data(), inputs.size(), outputs.data(), &count, outputs.size());
  // Taken down before another call on this thread can overwrite GE's text.
  if (status != 0) outputs.resize(given);
  session_.Check(status, "running the graph on device " + std::to_string(device.id()));
  outputs.resize(count);
  device.Use();
}

}  // namespace npu_console::ascend
