// A backend library: found, opened once per path, its entry points looked up, initialized, and finalized before it is closed.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "events.h"

// CPU and, as aligned CPU memory, pinned. Counts what is out, so that a backend that keeps some is told of when it is closed.
struct TRITONBACKEND_MemoryManager {
  std::mutex mutex;
  std::unordered_map<void*, std::uint64_t> allocated;
};

struct TRITONBACKEND_BackendAttribute {
  struct Group {
    TRITONSERVER_InstanceGroupKind kind;
    std::uint64_t count;
    std::vector<std::uint64_t> device_ids;
  };
  std::vector<Group> preferred_groups;
  bool loads_instances_in_parallel = false;
};

struct TRITONBACKEND_Backend {
  std::string name;
  std::string library;    // its path
  std::string directory;  // of the library
  TRITONSERVER_Message config;
  std::atomic<TRITONBACKEND_ExecutionPolicy> execution_policy{TRITONBACKEND_EXECUTION_BLOCKING};
  TRITONBACKEND_MemoryManager memory_manager;
  TRITONBACKEND_BackendAttribute attributes;
  std::atomic<void*> state{nullptr};

  // NULL where the library has none.
  struct EntryPoints {
    decltype(&TRITONBACKEND_Initialize) initialize;
    decltype(&TRITONBACKEND_Finalize) finalize;
    decltype(&TRITONBACKEND_GetBackendAttribute) get_backend_attribute;
    decltype(&TRITONBACKEND_ModelInitialize) model_initialize;
    decltype(&TRITONBACKEND_ModelFinalize) model_finalize;
    decltype(&TRITONBACKEND_ModelInstanceInitialize) instance_initialize;
    decltype(&TRITONBACKEND_ModelInstanceFinalize) instance_finalize;
    decltype(&TRITONBACKEND_ModelInstanceExecute) instance_execute;
    decltype(&TRITONBACKEND_ModelInstanceReady) instance_ready;
    // Of our own backends, beside Triton's: what an instance runs on, as JSON that the instance owns until it is asked again or finalized.
    const char* (*instance_report)(TRITONBACKEND_ModelInstance*);
  } entry{};

  // CallEntryPoint for one of this backend.
  npu_console::triton::ErrorPtr Call(const char* entry_point, const std::function<TRITONSERVER_Error*()>& call) const;
};

namespace npu_console::triton {

// Calls into a library. Whatever it throws becomes an error that names the library, as `who` says it, and the entry point.
ErrorPtr CallEntryPoint(const std::string& who, const char* entry_point, const std::function<TRITONSERVER_Error*()>& call);

class BackendLibraries {
 public:
  BackendLibraries(std::vector<std::string> backend_directories, EventQueuePtr events);
  // Closes what CloseAll did not.
  ~BackendLibraries();

  // The library of a model, opened and initialized if it is the first. Two models that ask at the same time wait for each other only if they share the library.
  ErrorPtr Open(
      const std::string& backend, const std::string& file_name, const std::string& model_directory, std::uint64_t version, const std::string& config_json,
      TRITONBACKEND_Backend** opened);

  // Finalizes and closes; when no model is left.
  void CloseAll();

 private:
  struct Library {
    std::mutex mutex;
    void* handle = nullptr;
    std::unique_ptr<TRITONBACKEND_Backend> backend;
  };

  ErrorPtr Find(
      const std::string& backend, const std::string& file_name, const std::string& model_directory, std::uint64_t version, std::string* path) const;
  ErrorPtr OpenAndInitialize(const std::string& backend, const std::string& path, const std::string& config_json, Library* library) const;
  // Before its library is closed: finalizes what was initialized, and frees the memory that it did not.
  void End(TRITONBACKEND_Backend& backend, bool is_initialized) const;

  const std::vector<std::string> backend_directories_;
  const EventQueuePtr events_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Library>> libraries_;  // by real path
};

}  // namespace npu_console::triton
