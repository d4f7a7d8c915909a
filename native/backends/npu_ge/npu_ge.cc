// libtriton_npu_ge.so: serves ONNX and frozen TensorFlow models on Ascend NPUs through CANN's graph engine (GE). The entry points that a Triton server looks up;
// what a model and an instance are is in model_state.h and model_instance_state.h. What it can be told: docs/npu-backends.md.
#include "ascend/ge_engine.h"
#include "common/entry_points.h"
#include "model_instance_state.h"
#include "model_state.h"

using npu_console::kit::DeleteState;
using npu_console::kit::Guard;
using npu_console::kit::SetState;
using npu_console::kit::StateOf;
using npu_console::npu_ge::BackendState;
using npu_console::npu_ge::ModelInstanceState;
using npu_console::npu_ge::ModelState;

namespace kit = npu_console::kit;

extern "C" {

TRITONSERVER_Error* TRITONBACKEND_Initialize(TRITONBACKEND_Backend* backend) {
  return Guard([&] {
    kit::CheckApiVersion();
    SetState(backend, BackendState::Create(backend));
  });
}

TRITONSERVER_Error* TRITONBACKEND_Finalize(TRITONBACKEND_Backend* backend) {
  return Guard([&] {
    npu_console::npu_ge::Translated([] { npu_console::ascend::GeEngine::Instance().Stop(); });
    DeleteState<BackendState>(backend);
  });
}

TRITONSERVER_Error* TRITONBACKEND_GetBackendAttribute(TRITONBACKEND_Backend*, TRITONBACKEND_BackendAttribute* attributes) {
  return Guard([&] { kit::Must(TRITONBACKEND_BackendAttributeSetParallelModelInstanceLoading(attributes, true)); });
}

TRITONSERVER_Error* TRITONBACKEND_ModelInitialize(TRITONBACKEND_Model* model) {
  return Guard([&] { SetState(model, ModelState::Create(model, *StateOf<BackendState>(kit::BackendOf(model)))); });
}

TRITONSERVER_Error* TRITONBACKEND_ModelFinalize(TRITONBACKEND_Model* model) {
  return Guard([&] { DeleteState<ModelState>(model); });
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceInitialize(TRITONBACKEND_ModelInstance* instance) {
  return Guard([&] { SetState(instance, std::make_unique<ModelInstanceState>(instance, *StateOf<ModelState>(kit::ModelOf(instance)))); });
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceFinalize(TRITONBACKEND_ModelInstance* instance) {
  return Guard([&] { DeleteState<ModelInstanceState>(instance); });
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceExecute(TRITONBACKEND_ModelInstance* instance, TRITONBACKEND_Request** requests, const std::uint32_t count) {
  ModelInstanceState* state = nullptr;
  if (TRITONSERVER_Error* const error = Guard([&] { state = StateOf<ModelInstanceState>(instance); }); error != nullptr) return error;
  return state->Execute(requests, count);
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceReady(TRITONBACKEND_ModelInstance* instance) {
  return Guard([&] { StateOf<ModelInstanceState>(instance)->CheckReady(); });
}

// For our own console; other servers do not look for it. JSON that is the instance's, valid until its end or the next call; NULL where it cannot be told.
__attribute__((visibility("default"))) const char* NPUCONSOLE_ModelInstanceReport(TRITONBACKEND_ModelInstance* instance) {
  const char* report = nullptr;
  if (TRITONSERVER_Error* const error = Guard([&] { report = StateOf<ModelInstanceState>(instance)->Report(); }); error != nullptr) {
    TRITONSERVER_ErrorDelete(error);
  }
  return report;
}

}  // extern "C"
