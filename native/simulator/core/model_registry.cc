#include "core/model_registry.h"

namespace simulator {

bool RegisteredModel::Begin(Handle onStream, bool isSynchronous) {
  const std::lock_guard lock(mutex);
  if (runs > 0 && (isSynchronous || stream != onStream)) return false;
  runs++;
  stream = onStream;
  return true;
}

void RegisteredModel::End() {
  const std::lock_guard lock(mutex);
  runs--;
}

ModelRegistry &ModelRegistry::Instance() {
  static ModelRegistry *instance = new ModelRegistry();
  return *instance;
}

uint32_t ModelRegistry::Add(std::shared_ptr<RegisteredModel> model) {
  const std::lock_guard lock(mutex_);
  models_.emplace(next_, std::move(model));
  return next_++;
}

std::shared_ptr<RegisteredModel> ModelRegistry::Find(uint32_t id) {
  const std::lock_guard lock(mutex_);
  const auto found = models_.find(id);
  return found == models_.end() || !found->second->loaded->IsUsable() ? nullptr : found->second;
}

void ModelRegistry::Remove(uint32_t id) {
  std::shared_ptr<RegisteredModel> last;
  const std::lock_guard lock(mutex_);
  const auto found = models_.find(id);
  if (found == models_.end()) return;
  last = std::move(found->second);
  models_.erase(found);
}

}  // namespace simulator
