// The models that a process has loaded through AscendCL, by the ids it gave out.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "core/loaded_model.h"

namespace simulator {

struct RegisteredModel {
  std::shared_ptr<LoadedModel> loaded;
  Handle context = 0;
  /** Guarded by `mutex`: how many runs are under way and on which stream; the gear that was set last. */
  std::mutex mutex;
  int runs = 0;
  Handle stream = 0;
  size_t variant = 0;

  /** @returns false when a run is under way on another stream */
  bool Begin(Handle onStream, bool isSynchronous);
  void End();
};

class ModelRegistry {
 public:
  static ModelRegistry &Instance();

  uint32_t Add(std::shared_ptr<RegisteredModel> model);
  /** Null when it is not loaded, or its device was reset. */
  std::shared_ptr<RegisteredModel> Find(uint32_t id);
  void Remove(uint32_t id);

 private:
  std::mutex mutex_;
  uint32_t next_ = 1;
  std::map<uint32_t, std::shared_ptr<RegisteredModel>> models_;
};

}  // namespace simulator
