// libtriton_onnxruntime.so: ONNX models on the CPU. One session per model instance.
#include "common/entry_points.h"
#include "onnxruntime/auto_complete.h"
#include "onnxruntime/instance.h"

using namespace npu_console;
using namespace npu_console::onnxruntime;

namespace {

struct BackendState {
  kit::BackendSettings settings;
  const Environment* environment = nullptr;
  CancelWatch watch;
};

struct ModelState {
  kit::ModelFacts facts;
  std::string file;
  SessionSettings settings;
  BackendState* backend = nullptr;
};

struct InstanceState {
  std::unique_ptr<Instance> instance;  // none where it is passive
  std::string report;
};

constexpr std::int64_t DEFAULT_MAX_BATCH_SIZE = 4;

// Nothing is loaded for a configuration that lists its tensors.
void Complete(TRITONBACKEND_Model* model, ModelState& state) {
  if (!kit::NeedsTensors(state.facts)) return;
  kit::ModelConfig& config = state.facts.config;
  const kit::ModelConfig none;
  const std::int64_t batch = kit::Options(none, state.backend->settings).Integer("default-max-batch-size").value_or(DEFAULT_MAX_BATCH_SIZE);
  const Session session(*state.backend->environment, state.file, config.name, state.settings);
  const Json completed = Completed(config, session, batch);
  kit::SetModelConfig(model, completed);
  config = kit::ParseModelConfig(completed.Write());
}

}  // namespace

extern "C" {

TRITONBACKEND_ISPEC TRITONSERVER_Error* TRITONBACKEND_Initialize(TRITONBACKEND_Backend* backend) {
  return kit::Guard([&] {
    kit::CheckApiVersion();
    auto state = std::make_unique<BackendState>();
    state->settings = kit::BackendSettings(backend);
    state->environment = &MakeEnvironment(state->settings);
    KIT_LOG(INFO, "ONNX Runtime " + state->environment->api->version + " from " + state->environment->api->path);
    kit::SetState(backend, std::move(state));
  });
}

TRITONBACKEND_ISPEC TRITONSERVER_Error* TRITONBACKEND_Finalize(TRITONBACKEND_Backend* backend) {
  return kit::Guard([&] { kit::DeleteState<BackendState>(backend); });
}

TRITONBACKEND_ISPEC TRITONSERVER_Error* TRITONBACKEND_GetBackendAttribute(TRITONBACKEND_Backend*, TRITONBACKEND_BackendAttribute* attributes) {
  return TRITONBACKEND_BackendAttributeSetParallelModelInstanceLoading(attributes, true);
}

TRITONBACKEND_ISPEC TRITONSERVER_Error* TRITONBACKEND_ModelInitialize(TRITONBACKEND_Model* model) {
  return kit::Guard([&] {
    auto state = std::make_unique<ModelState>();
    state->backend = kit::StateOf<BackendState>(kit::BackendOf(model));
    state->facts = kit::ReadModel(model);
    const std::filesystem::path found = kit::FindModelFile(state->facts, "model.onnx");
    // A directory holds the model and its external data.
    state->file = (std::filesystem::is_directory(found) ? found / "model.onnx" : found).string();
    state->settings = ReadSessionSettings(state->facts.config, state->backend->settings, *state->backend->environment);
    Complete(model, *state);
    kit::SetState(model, std::move(state));
  });
}

TRITONBACKEND_ISPEC TRITONSERVER_Error* TRITONBACKEND_ModelFinalize(TRITONBACKEND_Model* model) {
  return kit::Guard([&] { kit::DeleteState<ModelState>(model); });
}

TRITONBACKEND_ISPEC TRITONSERVER_Error* TRITONBACKEND_ModelInstanceInitialize(TRITONBACKEND_ModelInstance* instance) {
  return kit::Guard([&] {
    const kit::InstanceFacts facts = kit::ReadInstance(instance);
    auto* const model = kit::StateOf<ModelState>(kit::ModelOf(instance));
    auto state = std::make_unique<InstanceState>();
    if (!facts.is_passive) {
      state->instance = std::make_unique<Instance>(*model->backend->environment, model->facts.config, model->settings, model->file, facts.name, model->backend->watch);
      CheckTensors(model->facts.config, state->instance->session());
    }
    kit::SetState(instance, std::move(state));
  });
}

TRITONBACKEND_ISPEC TRITONSERVER_Error* TRITONBACKEND_ModelInstanceFinalize(TRITONBACKEND_ModelInstance* instance) {
  return kit::Guard([&] { kit::DeleteState<InstanceState>(instance); });
}

TRITONBACKEND_ISPEC TRITONSERVER_Error* TRITONBACKEND_ModelInstanceExecute(
    TRITONBACKEND_ModelInstance* instance, TRITONBACKEND_Request** requests, const std::uint32_t count) {
  return kit::Execute<ModelState, InstanceState>(instance, requests, count);
}

__attribute__((visibility("default"))) const char* NPUCONSOLE_ModelInstanceReport(TRITONBACKEND_ModelInstance* instance) { return kit::Report<InstanceState>(instance); }

}  // extern "C"
