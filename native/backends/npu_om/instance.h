// One model instance: a loaded copy of the .om file on one card.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ascend/om_model.h"
#include "common/batch.h"
#include "npu_om/settings.h"

namespace npu_console::npu_om {

class Instance {
 public:
  /** @throws kit::Error */
  Instance(const ascend::AclApi& api, int device, const std::string& file, const kit::ModelConfig& config, const Settings& settings);

  /** Runs a batch. @throws kit::Error; then the requests are the caller's to fail */
  void Execute(kit::Batch& batch);
  /** @throws kit::Error UNAVAILABLE with the cause when a restart is needed: the card failed, or runs keep failing */
  void CheckReady() const;
  /** Facts for the console, as JSON. */
  std::string Report() const;
  const ascend::OmModel& model() const { return *model_; }

 private:
  std::shared_ptr<ascend::OmModel> Load() const;
  /** A card that another user of this process reset has taken the loaded copy with it: before a batch, when nothing of it has run, it is loaded again. @throws kit::Error */
  void ReloadAfterReset();
  void FillInput(kit::Batch& batch, std::size_t index, const ascend::RunPlan& plan);
  void Respond(kit::Batch& batch, const std::vector<ascend::OmOutput>& outputs);

  const kit::ModelConfig& config_;
  const ascend::Padding padding_;
  const int device_id_;
  const ascend::AclApi& api_;
  const std::string file_;
  const ascend::OmOptions options_;
  kit::GrowingBuffer gathered_, cropped_;
  // Of what follows: the server asks whether the instance is ready on another thread than it runs batches. That one alone replaces the model, and reads it unlocked.
  mutable std::mutex mutex_;
  std::shared_ptr<ascend::OmModel> model_;
  /** Why it could not be loaded again; empty: it could. */
  std::string reload_failure_;
  int failures_in_a_row_ = 0;
  std::string last_failure_;
};

}  // namespace npu_console::npu_om
