// A model instance: one session, one batch at a time on the instance's own thread.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "common/batch.h"
#include "onnxruntime/cancel_watch.h"
#include "onnxruntime/session.h"

namespace npu_console::onnxruntime {

class Instance {
 public:
  // Loads the model on the calling thread. @throws kit::Error
  Instance(const Environment& environment, const kit::ModelConfig& config, const SessionSettings& settings, const std::string& model_path, const std::string& name,
           CancelWatch& watch);

  // Runs the batch and fills the responses. Inputs are used where the requests have them wherever possible; outputs are written straight into the responses where
  // the model says what shape they have: into that of a lone request, or large ones into those of a whole batch, which the server lets lie end to end. @throws kit::Error for the requests not failed so far
  void Execute(kit::Batch& batch);

  // What NPUCONSOLE_ModelInstanceReport answers.
  std::string Report() const;
  const Session& session() const { return session_; }

 private:
  struct Wanted {
    const TensorInfo* info = nullptr;
    bool is_output = false, is_state = false;
    bool is_placed = false;  // the run writes to its final place
    std::vector<std::int64_t> shape;
    void* data = nullptr;
    std::uint64_t byte_size = 0;
  };

  std::vector<Wanted> WantedOf(const kit::Batch& batch) const;
  void BindInputs(kit::Batch& batch);
  void BindValue(const std::string& name, TRITONSERVER_DataType datatype, const std::vector<std::int64_t>& shape, const void* data, std::uint64_t byte_size);
  OrtValue* MakeStrings(const std::vector<std::int64_t>& shape, const void* data, std::uint64_t byte_size);
  // Binds the outputs, each to its final place where `place` says so and it can be. False: the server gives no memory for a whole batch in one
  // piece; start anew without that.
  bool BindOutputs(kit::Batch& batch, std::vector<Wanted>& wanted, bool place);
  // Can the run write the output straight into the responses? Then with its shape and each member's share.
  bool CanPlace(const kit::Batch& batch, Wanted& output, std::vector<kit::Slice>& slices) const;
  // False where the model does not tell.
  bool PredictShape(const TensorInfo& output, const kit::Batch& batch, std::vector<std::int64_t>& shape) const;
  void Run(kit::Batch& batch);
  void Deliver(kit::Batch& batch, const std::vector<Wanted>& wanted);
  void DeliverOne(kit::Batch& batch, const Wanted& output, OrtValue* value);

  const kit::ModelConfig& config_;
  const OrtApi& api_;
  Session session_;
  Owned<OrtIoBinding> binding_;
  Owned<OrtRunOptions> run_options_;
  CancelWatch::Run watched_;
  bool places_outputs_ = true;
  bool joins_outputs_ = true;  // the server gives memory for a whole batch in one piece
  // Of the batch that runs.
  std::vector<kit::GrowingBuffer> gathered_;
  std::vector<kit::ComputedInput> computed_;
  std::vector<std::pair<std::string, std::int64_t>> dim_values_;
};

}  // namespace npu_console::onnxruntime
