// What a host holds: the tables of models and instances, and how they come and go. Whatever ended is taken down on a thread of its own, the reaper's.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "model.h"

namespace npu_console::triton {

struct InstanceEntry {
  std::uint64_t model;
  std::unique_ptr<TRITONBACKEND_ModelInstance> instance;
  bool is_initialized = false;
  bool is_removing = false;
};

struct ModelEntry {
  std::unique_ptr<TRITONBACKEND_Model> model;
  bool is_initialized = false;
  bool is_unloading = false;
};

std::string TextOr(const char* text, const char* otherwise);
std::vector<std::string> Texts(const char* const* texts, std::uint32_t count);

}  // namespace npu_console::triton

struct TritonHost {
  explicit TritonHost(const TritonHostOptions& options);

  npu_console::triton::EventQueuePtr events;
  npu_console::triton::BackendLibraries libraries;
  npu_console::triton::Bridge bridge;
  npu_console::triton::RemovalTimes removal_times;

  std::mutex mutex;
  std::condition_variable changed;
  bool is_closing = false;
  bool is_closed = false;
  std::map<std::uint64_t, npu_console::triton::ModelEntry> models;
  std::map<std::uint64_t, npu_console::triton::InstanceEntry> instances;
  // Of instances that ended while the backend still held pointers into them.
  std::vector<std::shared_ptr<npu_console::triton::RequestLedger>> leaked_ledgers;

  // Joins the threads of what ended, which those cannot do themselves. Last: it uses all of the above.
  npu_console::triton::TaskThread reaper;

  // As the functions of host.h of the same name; they throw where memory or threads run out.
  TRITONSERVER_Error* LoadModel(const TritonHostModelOptions& options);
  TRITONSERVER_Error* UnloadModel(std::uint64_t model);
  TRITONSERVER_Error* AddInstance(const TritonHostInstanceOptions& options);
  TRITONSERVER_Error* RemoveInstance(std::uint64_t instance);
  TRITONSERVER_Error* CheckInstance(std::uint64_t instance);
  TRITONSERVER_Error* CancelRequest(std::uint64_t instance, std::uint64_t request);
  TRITONSERVER_Error* Close(std::uint32_t timeout_ms);

  // NOT_FOUND: no such model, or it has none.
  TRITONSERVER_Error* FindBatcher(std::uint64_t model, std::shared_ptr<npu_console::triton::Batcher>* batcher);

  // The lock is held. Errors: UNAVAILABLE while it closes; NOT_FOUND where there is none, or one that initializes or ends.
  TRITONSERVER_Error* RequireOpen() const;
  TRITONSERVER_Error* FindModel(std::uint64_t token, npu_console::triton::ModelEntry** entry);
  TRITONSERVER_Error* FindInstance(std::uint64_t token, npu_console::triton::InstanceEntry** entry);

 private:
  // The lock is held.
  void StartUnload(npu_console::triton::ModelEntry& entry);
  void StartRemoval(npu_console::triton::InstanceEntry& entry);
  bool HasInstances(std::uint64_t model) const;

  void ReapInstance(std::uint64_t token, npu_console::triton::EventPtr event);
  void ReapModel(std::uint64_t token, npu_console::triton::EventPtr event);
};
