// What the entry points of our backends have in common: the version check, the objects behind the server's state pointers, facts of an instance.
#pragma once

#include <memory>
#include <string>

#include "common/batch.h"
#include "common/error.h"
#include "common/model_config.h"
#include "common/options.h"

namespace npu_console::kit {

// @throws Error UNSUPPORTED where the server's API is older than what this was built for
void CheckApiVersion();

// The object that SetState stored; null before.
template <class State>
State* StateOf(TRITONBACKEND_Backend* backend) {
  void* state = nullptr;
  Must(TRITONBACKEND_BackendState(backend, &state));
  return static_cast<State*>(state);
}
template <class State>
State* StateOf(TRITONBACKEND_Model* model) {
  void* state = nullptr;
  Must(TRITONBACKEND_ModelState(model, &state));
  return static_cast<State*>(state);
}
template <class State>
State* StateOf(TRITONBACKEND_ModelInstance* instance) {
  void* state = nullptr;
  Must(TRITONBACKEND_ModelInstanceState(instance, &state));
  return static_cast<State*>(state);
}

// The object belongs to the server's until the matching finalize deletes it.
template <class State>
void SetState(TRITONBACKEND_Backend* backend, std::unique_ptr<State> state) {
  Must(TRITONBACKEND_BackendSetState(backend, state.get()));
  state.release();
}
template <class State>
void SetState(TRITONBACKEND_Model* model, std::unique_ptr<State> state) {
  Must(TRITONBACKEND_ModelSetState(model, state.get()));
  state.release();
}
template <class State>
void SetState(TRITONBACKEND_ModelInstance* instance, std::unique_ptr<State> state) {
  Must(TRITONBACKEND_ModelInstanceSetState(instance, state.get()));
  state.release();
}

// Deletes the object behind a handle and clears the pointer: the body of a finalize.
template <class State, class Handle>
void DeleteState(Handle* handle) {
  std::unique_ptr<State> state(StateOf<State>(handle));
  SetState(handle, std::unique_ptr<State>());
}

TRITONBACKEND_Backend* BackendOf(TRITONBACKEND_Model* model);
TRITONBACKEND_Model* ModelOf(TRITONBACKEND_ModelInstance* instance);

struct InstanceFacts {
  std::string name;
  TRITONSERVER_InstanceGroupKind kind = TRITONSERVER_INSTANCEGROUPKIND_AUTO;
  std::int32_t device_id = 0;
  bool is_passive = false;
  // {"<policy>":{...}}; null where there is none.
  Json host_policy;
};
InstanceFacts ReadInstance(TRITONBACKEND_ModelInstance* instance);

// TRITONBACKEND_ModelInstanceExecute of a backend whose states are `ModelState{facts, ...}` and `InstanceState{instance, report, ...}`; `instance` is null where it
// is passive.
template <class ModelState, class InstanceState>
TRITONSERVER_Error* Execute(TRITONBACKEND_ModelInstance* instance, TRITONBACKEND_Request** requests, std::uint32_t count) {
  return Guard([&] {
    const auto* const model = StateOf<ModelState>(ModelOf(instance));
    auto* const state = StateOf<InstanceState>(instance);
    if (state->instance == nullptr) throw Internal("a passive instance was given requests");
    Must(ExecuteBatch(instance, requests, count, model->facts.config, [&](Batch& batch) { state->instance->Execute(batch); }));
  });
}

// NPUCONSOLE_ModelInstanceReport of the same: what our console asks for, other servers do not look for it. The text is the instance's, valid until the next call;
// null where there is none.
template <class InstanceState>
const char* Report(TRITONBACKEND_ModelInstance* instance) {
  const char* report = nullptr;
  TRITONSERVER_Error* const error = Guard([&] {
    auto* const state = StateOf<InstanceState>(instance);
    if (state == nullptr || state->instance == nullptr) return;
    state->report = state->instance->Report();
    report = state->report.c_str();
  });
  TRITONSERVER_ErrorDelete(error);
  return report;
}

}  // namespace npu_console::kit
