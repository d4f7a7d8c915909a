// A model of this backend: its options, what its file says, and its cards.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "ascend/ge_engine.h"
#include "common/entry_points.h"
#include "gears.h"
#include "model_options.h"
#include "onnx_file.h"
#include "scheduler.h"

namespace npu_console::npu_ge {

// What all models of the backend share.
struct BackendState {
  kit::BackendSettings settings;
  std::string cann_directory;    // cann-library-directory; empty: where the loader looks
  std::string bridge_directory;  // where the bridge lies: beside this backend, or two folders up
  std::filesystem::path work_directory;

  // @throws kit::Error
  static std::unique_ptr<BackendState> Create(TRITONBACKEND_Backend* backend);
};

class ModelState {
 public:
  // Reads everything there is to read, completes the configuration and starts GE; the cards come with the first instance. @throws kit::Error
  static std::unique_ptr<ModelState> Create(TRITONBACKEND_Model* model, const BackendState& backend);
  ~ModelState();

  // An instance begins: the cards are built where they do not run. @throws kit::Error, and the instance counts for nothing
  void Enter();
  // It ends; the last one takes the cards with it.
  void Leave();

  const kit::ModelConfig& config() const { return facts_.config; }
  const ModelOptions& options() const { return options_; }
  const ModelSignature& signature() const { return signature_; }
  const std::optional<Gears>& gears() const { return gears_; }
  Scheduler& scheduler() { return *scheduler_; }
  const std::vector<int>& devices() const { return devices_; }
  // The facts that NPUCONSOLE_ModelInstanceReport tells, of the cards that run.
  Json Report(std::optional<int> device);

 private:
  ModelState(TRITONBACKEND_Model* model, kit::ModelFacts facts) : handle_(model), facts_(std::move(facts)) {}
  void ReadFile();
  void Complete(const BackendState& backend);
  void PrepareCards(const BackendState& backend);
  void ReportMemory();

  TRITONBACKEND_Model* const handle_;
  kit::ModelFacts facts_;
  ModelOptions options_;
  std::filesystem::path file_;
  bool is_tensorflow_ = false;
  ModelSignature signature_;
  std::optional<Gears> gears_;
  std::vector<int> devices_;
  const ascend::GeLibrary* library_ = nullptr;
  std::string chip_;
  std::shared_ptr<ascend::GeEngine::Lease> lease_;
  std::shared_ptr<Scheduler> scheduler_;

  std::mutex mutex_;
  int instances_ = 0;
  bool was_started_ = false;
};

// An error of CANN's as Triton's.
kit::Error ToKit(const ascend::Error& error);

// Runs the body; errors of CANN's leave it as kit::Error.
template <class Body>
auto Translated(Body&& body) {
  try {
    return body();
  } catch (const ascend::Error& error) {
    throw ToKit(error);
  }
}

}  // namespace npu_console::npu_ge
