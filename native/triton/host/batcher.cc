#include "batcher.h"

#include <dlfcn.h>

#include <filesystem>

#include "model.h"

namespace npu_console::triton {
namespace {

constexpr const char* kLibrary = "batchstrategy.so";

// Empty: there is none.
std::string Find(const TRITONBACKEND_Model& model) {
  const std::filesystem::path directory = model.options.directory;
  for (const auto& folder : {directory / std::to_string(model.facts->version), directory, std::filesystem::path(model.backend->directory)}) {
    std::error_code ignored;
    if (std::filesystem::is_regular_file(folder / kLibrary, ignored)) return (folder / kLibrary).string();
  }
  return "";
}

// Looks it up; adds its name to `missing` where it is not there.
template <class Function>
void LookUp(void* handle, const char* name, Function* function, std::vector<std::string>* missing) {
  *function = reinterpret_cast<Function>(dlsym(handle, name));
  if (*function == nullptr) missing->push_back(name);
}

std::string Joined(const std::vector<std::string>& names) {
  std::string joined;
  for (const std::string& name : names) joined += (joined.empty() ? "" : ", ") + name;
  return joined;
}

}  // namespace

ErrorPtr Batcher::Open(TRITONBACKEND_Model* model, const std::string& given, std::shared_ptr<Batcher>* opened) {
  std::error_code ignored;
  if (!given.empty() && !std::filesystem::is_regular_file(given, ignored)) {
    return ErrorPtr(InvalidArgument(
        "batching library '" + given + "' of model '" + model->facts->name + "' is not there: parameter TRITON_BATCH_STRATEGY_PATH must be the path of a file on the server"));
  }
  std::string path = given.empty() ? Find(*model) : given;
  const bool is_backend = path.empty();
  if (is_backend) path = model->backend->library;
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return ErrorPtr(InvalidArgument("unable to load batching library '" + path + "' of model '" + model->facts->name + "': " + dlerror()));
  }
  EntryPoints entry{};
  std::vector<std::string> missing;
  LookUp(handle, "TRITONBACKEND_ModelBatcherInitialize", &entry.initialize, &missing);
  LookUp(handle, "TRITONBACKEND_ModelBatcherFinalize", &entry.finalize, &missing);
  LookUp(handle, "TRITONBACKEND_ModelBatchInitialize", &entry.begin, &missing);
  LookUp(handle, "TRITONBACKEND_ModelBatchIncludeRequest", &entry.include, &missing);
  LookUp(handle, "TRITONBACKEND_ModelBatchFinalize", &entry.end, &missing);
  if (is_backend && missing.size() == 5) {
    dlclose(handle);
    return nullptr;
  }
  // Closes the library where it goes no further.
  std::shared_ptr<Batcher> batcher(new Batcher(model, path, handle, entry));
  if (!missing.empty()) {
    return ErrorPtr(InvalidArgument(
        "batching library '" + path + "' of model '" + model->facts->name + "' does not define " + Joined(missing) + ": it must define all five functions of custom batching"));
  }
  if (ErrorPtr error = batcher->Call("TRITONBACKEND_ModelBatcherInitialize", [&] { return entry.initialize(&batcher->batcher_, model); })) return error;
  *opened = std::move(batcher);
  return nullptr;
}

Batcher::Batcher(TRITONBACKEND_Model* model, std::string path, void* handle, const EntryPoints& entry)
    : path_(std::move(path)), handle_(handle), entry_(entry), events_(model->events), ledger_(model->facts, 0, model->events) {}

Batcher::~Batcher() { dlclose(handle_); }

template <class Body>
ErrorPtr Batcher::Call(const char* entry_point, Body body) const {
  return CallEntryPoint("batching library '" + path_ + "'", entry_point, body);
}

ErrorPtr Batcher::Begin(std::uint64_t batch) {
  const std::lock_guard lock(mutex_);
  if (is_closed_ || batches_.contains(batch)) return NoBatch(batch);
  const OnEmbedderThread scope(events_, ledger_.model().token);
  Batch begun;
  if (ErrorPtr error = Call("TRITONBACKEND_ModelBatchInitialize", [&] { return entry_.begin(batcher_, &begun.userp); })) return error;
  batches_.emplace(batch, std::move(begun));
  return nullptr;
}

ErrorPtr Batcher::Include(std::uint64_t batch, const TritonHostRequest& request, bool* included) {
  const std::lock_guard lock(mutex_);
  const auto found = batches_.find(batch);
  if (found == batches_.end()) return NoBatch(batch);
  const OnEmbedderThread scope(events_, ledger_.model().token);
  Batch& forming = found->second;
  forming.seen.push_back(ledger_.Preview(request));
  *included = false;
  return Call("TRITONBACKEND_ModelBatchIncludeRequest", [&] { return entry_.include(forming.seen.back().get(), forming.userp, included); });
}

ErrorPtr Batcher::End(std::uint64_t batch) {
  const std::lock_guard lock(mutex_);
  const auto found = batches_.find(batch);
  if (found == batches_.end()) return NoBatch(batch);
  ErrorPtr error = Finalize(found->second);
  batches_.erase(found);
  return error;
}

ErrorPtr Batcher::Finalize(Batch& batch) {
  const OnEmbedderThread scope(events_, ledger_.model().token);
  return Call("TRITONBACKEND_ModelBatchFinalize", [&] { return entry_.end(batch.userp); });
}

ErrorPtr Batcher::Close() {
  std::map<std::uint64_t, Batch> left;
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    left.swap(batches_);
  }
  ErrorPtr first;
  for (auto& [token, batch] : left) {
    ErrorPtr error = Finalize(batch);
    if (first == nullptr) first = std::move(error);
  }
  ErrorPtr error = Call("TRITONBACKEND_ModelBatcherFinalize", [&] { return entry_.finalize(batcher_); });
  return first == nullptr ? std::move(error) : std::move(first);
}

ErrorPtr Batcher::NoBatch(std::uint64_t batch) const {
  return ErrorPtr(InvalidArgument("batch " + std::to_string(batch) + " of model '" + ledger_.model().name + "' has begun already, has ended, or its model is being unloaded"));
}

}  // namespace npu_console::triton
