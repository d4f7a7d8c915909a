#include "backend.h"

#include <dlfcn.h>

#include <exception>
#include <filesystem>

npu_console::triton::ErrorPtr TRITONBACKEND_Backend::Call(const char* entry_point, const std::function<TRITONSERVER_Error*()>& call) const {
  return npu_console::triton::CallEntryPoint("backend '" + name + "'", entry_point, call);
}

namespace npu_console::triton {

ErrorPtr CallEntryPoint(const std::string& who, const char* entry_point, const std::function<TRITONSERVER_Error*()>& call) {
  try {
    return ErrorPtr(call());
  } catch (const std::exception& exception) {
    return ErrorPtr(MakeError(TRITONSERVER_ERROR_INTERNAL, who + " threw an exception out of " + entry_point + ": " + exception.what()));
  } catch (...) {
    return ErrorPtr(MakeError(TRITONSERVER_ERROR_INTERNAL, who + " threw an exception out of " + entry_point + " that is no std::exception"));
  }
}

namespace {

template <class Function>
void LookUp(void* handle, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(handle, name));
}

ErrorPtr LookUpEntryPoints(void* handle, TRITONBACKEND_Backend::EntryPoints* entry) {
  LookUp(handle, "TRITONBACKEND_Initialize", &entry->initialize);
  LookUp(handle, "TRITONBACKEND_Finalize", &entry->finalize);
  LookUp(handle, "TRITONBACKEND_GetBackendAttribute", &entry->get_backend_attribute);
  LookUp(handle, "TRITONBACKEND_ModelInitialize", &entry->model_initialize);
  LookUp(handle, "TRITONBACKEND_ModelFinalize", &entry->model_finalize);
  LookUp(handle, "TRITONBACKEND_ModelInstanceInitialize", &entry->instance_initialize);
  LookUp(handle, "TRITONBACKEND_ModelInstanceFinalize", &entry->instance_finalize);
  LookUp(handle, "TRITONBACKEND_ModelInstanceReady", &entry->instance_ready);
  LookUp(handle, "TRITONBACKEND_ModelInstanceExecute", &entry->instance_execute);
  LookUp(handle, "NPUCONSOLE_ModelInstanceReport", &entry->instance_report);
  if (entry->instance_execute != nullptr) return nullptr;
  dlerror();
  dlsym(handle, "TRITONBACKEND_ModelInstanceExecute");
  const char* const reason = dlerror();
  return ErrorPtr(MakeError(
      TRITONSERVER_ERROR_NOT_FOUND, std::string("unable to find required entrypoint 'TRITONBACKEND_ModelInstanceExecute' in shared library: ") + (reason == nullptr ? "it is NULL" : reason)));
}

}  // namespace

BackendLibraries::BackendLibraries(std::vector<std::string> backend_directories, EventQueuePtr events)
    : backend_directories_(std::move(backend_directories)), events_(std::move(events)) {}

BackendLibraries::~BackendLibraries() { CloseAll(); }

ErrorPtr BackendLibraries::Find(
    const std::string& backend, const std::string& file_name, const std::string& model_directory, std::uint64_t version, std::string* path) const {
  // A name out of a model's config must not lead out of the folders it is looked for in.
  const std::string file = file_name.empty() ? "libtriton_" + backend + ".so" : file_name;
  if (file.find('/') != std::string::npos || backend.find('/') != std::string::npos || backend == "..") {
    return ErrorPtr(InvalidArgument("backend library name '" + file + "' of backend '" + backend + "' must be a plain file name, check model config runtime field"));
  }
  std::vector<std::filesystem::path> folders = {std::filesystem::path(model_directory) / std::to_string(version), model_directory};
  for (const std::string& directory : backend_directories_) folders.push_back(std::filesystem::path(directory) / backend);
  std::string searched;
  for (const auto& folder : folders) {
    std::error_code ignored;
    const auto candidate = folder / file;
    if (std::filesystem::is_regular_file(candidate, ignored)) {
      const auto real = std::filesystem::canonical(candidate, ignored);
      *path = ignored ? candidate.string() : real.string();
      return nullptr;
    }
    searched += (searched.empty() ? "" : ", ") + candidate.string();
  }
  return ErrorPtr(InvalidArgument(
      "unable to find backend library for backend '" + backend + "', try specifying runtime on the model configuration. Searched: " + searched));
}

ErrorPtr BackendLibraries::Open(
    const std::string& backend, const std::string& file_name, const std::string& model_directory, std::uint64_t version, const std::string& config_json,
    TRITONBACKEND_Backend** opened) {
  std::string path;
  if (ErrorPtr error = Find(backend, file_name, model_directory, version, &path)) return error;
  std::shared_ptr<Library> library;
  {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<Library>& entry = libraries_[path];
    if (entry == nullptr) entry = std::make_shared<Library>();
    library = entry;
  }
  const std::lock_guard lock(library->mutex);
  if (library->backend == nullptr) {
    if (ErrorPtr error = OpenAndInitialize(backend, path, config_json, library.get())) return error;
  }
  *opened = library->backend.get();
  return nullptr;
}

ErrorPtr BackendLibraries::OpenAndInitialize(const std::string& backend, const std::string& path, const std::string& config_json, Library* library) const {
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return ErrorPtr(MakeError(TRITONSERVER_ERROR_NOT_FOUND, std::string("unable to load shared library: ") + dlerror()));
  auto created = std::make_unique<TRITONBACKEND_Backend>();
  created->name = backend;
  created->library = path;
  created->directory = std::filesystem::path(path).parent_path().string();
  created->config.json = config_json;
  ErrorPtr error = LookUpEntryPoints(handle, &created->entry);
  bool is_initialized = error == nullptr;
  if (is_initialized && created->entry.initialize != nullptr) {
    error = created->Call("TRITONBACKEND_Initialize", [&] { return created->entry.initialize(created.get()); });
    is_initialized = error == nullptr;
  }
  if (error == nullptr && created->entry.get_backend_attribute != nullptr) {
    error = created->Call("TRITONBACKEND_GetBackendAttribute", [&] { return created->entry.get_backend_attribute(created.get(), &created->attributes); });
  }
  if (error != nullptr) {
    End(*created, is_initialized);
    dlclose(handle);
    return error;
  }
  if (dlsym(handle, "TRITONBACKEND_BackendControl") != nullptr) {
    events_->Log(TRITONSERVER_LOG_INFO, __FILE__, __LINE__,
                 "backend '" + backend + "' exports TRITONBACKEND_BackendControl: no published header declares its arguments, so it is not called");
  }
  library->handle = handle;
  library->backend = std::move(created);
  return nullptr;
}

void BackendLibraries::End(TRITONBACKEND_Backend& backend, bool is_initialized) const {
  if (is_initialized && backend.entry.finalize != nullptr) {
    const ErrorPtr error = backend.Call("TRITONBACKEND_Finalize", [&] { return backend.entry.finalize(&backend); });
    if (error != nullptr) events_->Log(TRITONSERVER_LOG_ERROR, __FILE__, __LINE__, "backend '" + backend.name + "' failed to finalize: " + error->message);
  }
  if (backend.memory_manager.allocated.empty()) return;
  std::uint64_t bytes = 0;
  for (const auto& [memory, size] : backend.memory_manager.allocated) {
    bytes += size;
    std::free(memory);
  }
  events_->Log(TRITONSERVER_LOG_WARN, __FILE__, __LINE__,
               "backend '" + backend.name + "' did not free " + std::to_string(backend.memory_manager.allocated.size()) + " buffers (" + std::to_string(bytes) +
                   " bytes) of the memory manager before it was closed");
}

void BackendLibraries::CloseAll() {
  const std::lock_guard lock(mutex_);
  for (auto& [path, library] : libraries_) {
    if (library->backend == nullptr) continue;
    End(*library->backend, true);
    dlclose(library->handle);
  }
  libraries_.clear();
}

}  // namespace npu_console::triton
