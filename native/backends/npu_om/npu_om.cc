// libtriton_npu_om.so: .om models on Ascend NPUs through AscendCL. One loaded copy per model instance, since one copy runs once at a time.
#include <algorithm>
#include <map>
#include <mutex>

#include "common/entry_points.h"
#include "npu_om/auto_complete.h"
#include "npu_om/instance.h"
#include "npu_om/settings.h"

using namespace npu_console;
using namespace npu_console::npu_om;

namespace {

struct BackendState {
  kit::BackendSettings settings;
  const ascend::AclApi* api = nullptr;
};

struct ModelState {
  kit::ModelFacts facts;
  std::string file;
  Settings settings;
  BackendState* backend = nullptr;

  /** The card of an instance that names none: the one with the fewest so far; again the same when the instance is started again. */
  int PlaceOf(const std::string& instance) {
    std::vector<int> cards = settings.device_ids;
    if (cards.empty()) {
      const int count = Translated([&] { return ascend::Device::Count(*backend->api); });
      for (int id = 0; id < count; id++) cards.push_back(id);
    }
    if (cards.empty()) throw kit::Unavailable("no NPU was found for model '" + facts.name + "': npu-console doctor says what is missing");
    const std::lock_guard lock(mutex);
    const auto known = places.find(instance);
    if (known != places.end()) return known->second;
    const auto load = [&](int card) { return std::count_if(places.begin(), places.end(), [&](const auto& place) { return place.second == card; }); };
    const int best = *std::min_element(cards.begin(), cards.end(), [&](int a, int b) { return load(a) < load(b); });
    places[instance] = best;
    return best;
  }

  std::mutex mutex;
  std::map<std::string, int> places;
};

struct InstanceState {
  std::unique_ptr<Instance> instance;  // none where it is passive
  std::string report;
};

// Nothing is loaded onto a card for this.
void Complete(TRITONBACKEND_Model* model, ModelState& state) {
  if (!kit::NeedsTensors(state.facts)) return;
  kit::ModelConfig& config = state.facts.config;
  const ascend::OmDescription description = Translated([&] {
    ascend::RequireOmFile(state.file);
    return ascend::DescribeOmFile(*state.backend->api, state.file);
  });
  const Json completed = Completed(config, description, state.settings.default_max_batch_size);
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
    Translated([&] {
      state->api = &ascend::AclApi::Load(state->settings.Text("cann-library-directory").value_or(""));
      state->api->Initialize();
    });
    KIT_LOG(INFO, std::string(state->api->is_simulated ? "simulated " : "") + "CANN " + state->api->Version() + " from " + state->api->libraries.front());
    for (const std::string& missing : state->api->MissingFeatures()) KIT_LOG(WARN, missing);
    kit::SetState(backend, std::move(state));
  });
}

// AscendCL stays initialised: other backends of the process may use it, and it must not be shut down while a library is unloaded.
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
    state->file = kit::FindModelFile(state->facts, "model.om").string();
    state->settings = ReadSettings(state->facts.config, state->backend->settings);
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
      // Servers without GPUs know no kind for NPUs: the group's `gpus` name cards where it has the kind for it, in all other kinds device_ids does.
      const int device = facts.kind == TRITONSERVER_INSTANCEGROUPKIND_GPU ? facts.device_id : model->PlaceOf(facts.name);
      state->instance = std::make_unique<Instance>(*model->backend->api, device, model->file, model->facts.config, model->settings);
      const ascend::OmModel& loaded = state->instance->model();
      kit::ReportMemory(instance, {{TRITONSERVER_MEMORY_GPU, device, loaded.weight_bytes() + loaded.work_bytes()}});
    }
    kit::SetState(instance, std::move(state));
  });
}

TRITONBACKEND_ISPEC TRITONSERVER_Error* TRITONBACKEND_ModelInstanceFinalize(TRITONBACKEND_ModelInstance* instance) {
  return kit::Guard([&] { kit::DeleteState<InstanceState>(instance); });
}

TRITONBACKEND_ISPEC TRITONSERVER_Error* TRITONBACKEND_ModelInstanceReady(TRITONBACKEND_ModelInstance* instance) {
  return kit::Guard([&] {
    auto* const state = kit::StateOf<InstanceState>(instance);
    if (state->instance != nullptr) state->instance->CheckReady();
  });
}

TRITONBACKEND_ISPEC TRITONSERVER_Error* TRITONBACKEND_ModelInstanceExecute(
    TRITONBACKEND_ModelInstance* instance, TRITONBACKEND_Request** requests, const std::uint32_t count) {
  return kit::Execute<ModelState, InstanceState>(instance, requests, count);
}

__attribute__((visibility("default"))) const char* NPUCONSOLE_ModelInstanceReport(TRITONBACKEND_ModelInstance* instance) { return kit::Report<InstanceState>(instance); }

}  // extern "C"
