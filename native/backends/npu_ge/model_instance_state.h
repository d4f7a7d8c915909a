// An instance: takes batches apart into runs of the graph, and puts the outputs together again.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/batch.h"
#include "common/entry_points.h"
#include "model_state.h"

namespace npu_console::npu_ge {

class ModelInstanceState {
 public:
  // @throws kit::Error
  ModelInstanceState(TRITONBACKEND_ModelInstance* instance, ModelState& model);
  ~ModelInstanceState();
  ModelInstanceState(const ModelInstanceState&) = delete;
  ModelInstanceState& operator=(const ModelInstanceState&) = delete;

  TRITONSERVER_Error* Execute(TRITONBACKEND_Request** requests, std::uint32_t count);
  // @throws kit::Error UNAVAILABLE while no card of the instance takes work
  void CheckReady();
  // JSON; valid until the next call.
  const char* Report();

 private:
  // A part of the batch that runs by itself.
  struct Part {
    std::int64_t first_row = 0, rows = 0;
    std::vector<std::vector<std::int64_t>> shapes;  // of the inputs, padded to a gear
    std::shared_ptr<Card> card;
    std::shared_ptr<Job> job;
  };

  void Run(kit::Batch& batch);
  std::vector<std::vector<std::int64_t>> InputShapes(const kit::Batch& batch) const;
  std::vector<Part> Divide(const kit::Batch& batch, const std::vector<std::vector<std::int64_t>>& shapes) const;
  std::shared_ptr<Card> ChooseCard(double cost);
  void Submit(const kit::Batch& batch, Part& part);
  void Wait(const kit::Batch& batch, Part& part);
  void PlanOutputs(const Part& part, Job& job) const;
  void Respond(kit::Batch& batch, const std::vector<Part>& parts, std::size_t output) const;

  ModelState& model_;
  TRITONBACKEND_ModelInstance* const handle_;
  // Of an instance of KIND_GPU.
  std::optional<int> device_;
  std::string report_;
};

}  // namespace npu_console::npu_ge
