// A compiled model on a device, with the memory that it takes there.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/compiled_model.h"
#include "core/onnx.h"
#include "core/runtime.h"

namespace simulator {

/** Ready to run. */
class LoadedModel {
 public:
  /** @returns null with an AscendCL code and the reason */
  static std::shared_ptr<LoadedModel> Load(std::shared_ptr<const CompiledModel> model, Device &device, bool takesWork, bool takesWeights,
                                           TaskResult &problem);
  ~LoadedModel();
  LoadedModel(const LoadedModel &) = delete;
  LoadedModel &operator=(const LoadedModel &) = delete;

  const CompiledModel &model() const { return *model_; }
  std::shared_ptr<const CompiledModel> shared() const { return model_; }
  Device &device() const { return device_; }
  /** False once the device was reset. */
  bool IsUsable() const { return device_.generation == generation_; }

  /**
   * Runs on the calling thread: takes the cores, computes, and lasts as long as the modelled chip would.
   * @param cores for free shapes; fixed shapes keep the cores they were compiled with
   */
  TaskResult Run(const std::vector<TensorView> &inputs, CoreShare cores, Stream *stream,
                 const std::function<bool(size_t index, const TensorView &output, std::string &error)> &take) const;

 private:
  LoadedModel(std::shared_ptr<const CompiledModel> model, Device &device)
      : model_(std::move(model)), device_(device), generation_(device.generation) {}

  std::shared_ptr<const CompiledModel> model_;
  Device &device_;
  const uint64_t generation_;
  std::shared_ptr<OnnxSession> session_;
  void *work_ = nullptr;
  void *weights_ = nullptr;
};

}  // namespace simulator
