// A backend made of the kit of our own backends: each input comes back as the output "O" + its name, numbers times the setting "scale"; so do the inputs that
// batch_input computes. Input "F" fails: 1 its request alone, 2 the batch, 3 throws after half of the outputs are made. A state's new value is the input's bytes.
#include <algorithm>
#include <cstring>

#include "common/entry_points.h"

using namespace npu_console;

namespace {

struct BackendState {
  kit::BackendSettings settings;
};

struct ModelState {
  kit::ModelFacts facts;
  std::int32_t scale = 1;
};

struct InstanceState {
  kit::InstanceFacts facts;
  kit::GrowingBuffer gathered;
  std::string report;
};

void Run(kit::Batch& batch, const ModelState& model, InstanceState& instance) {
  const std::vector<std::size_t> members = batch.members();
  for (const std::size_t member : members) {
    const kit::RequestInput* const fault = batch.Input(member, "F");
    std::int32_t kind = 0;
    if (fault != nullptr && fault->byte_size >= sizeof kind) std::memcpy(&kind, fault->pieces.at(0).data, sizeof kind);
    if (kind == 1) batch.Fail(member, kit::Unavailable("this one was told to fail"));
    if (kind == 2) throw kit::Internal("the batch was told to fail");
  }
  if (batch.members().empty()) return;
  batch.SetComputeStart(kit::Now());
  for (const kit::ComputedInput& computed : kit::ComputeBatchInputs(batch, model.facts.config)) {
    batch.Respond("O" + computed.name, computed.datatype, computed.shape, computed.data.data(), computed.data.size() * sizeof(std::uint32_t));
  }
  for (const kit::RequestInput& input : batch.inputs(batch.members().front())) {
    kit::GatheredInput gathered = batch.Gather(input.name, [&](std::uint64_t bytes) { return instance.gathered.Reserve(bytes); }, 4);
    std::vector<char> bytes(gathered.byte_size);
    if (!bytes.empty()) std::memcpy(bytes.data(), gathered.data, bytes.size());
    for (std::size_t at = 0; gathered.datatype == TRITONSERVER_TYPE_INT32 && at < bytes.size(); at += 4) {
      std::int32_t number = 0;
      std::memcpy(&number, &bytes[at], sizeof number);
      number *= model.scale;
      std::memcpy(&bytes[at], &number, sizeof number);
    }
    if (input.name == "BAD") gathered.shape.front() += 1;
    batch.Respond("O" + input.name, gathered.datatype, gathered.shape, bytes.data(), bytes.size());
    if (input.name == "F" && std::count(bytes.begin(), bytes.end(), 3) > 0) throw std::runtime_error("thrown half way");
    for (const kit::StateConfig& state : model.facts.config.states) {
      if (state.input_name != input.name) continue;
      for (const kit::Slice& slice : batch.Share(state.output_name, gathered.datatype, gathered.shape, bytes.data(), bytes.size())) {
        void* const buffer = batch.StateBuffer(slice.member, state.output_name, gathered.datatype, slice.shape, slice.byte_size);
        std::memcpy(buffer, bytes.data() + slice.offset, slice.byte_size);
      }
    }
  }
  batch.UpdateStates();
  batch.SetComputeEnd(kit::Now());
}

}  // namespace

extern "C" {

TRITONSERVER_Error* TRITONBACKEND_Initialize(TRITONBACKEND_Backend* backend) {
  return kit::Guard([&] {
    kit::CheckApiVersion();
    kit::SetState(backend, std::make_unique<BackendState>(BackendState{kit::BackendSettings(backend)}));
  });
}

TRITONSERVER_Error* TRITONBACKEND_Finalize(TRITONBACKEND_Backend* backend) {
  return kit::Guard([&] { kit::DeleteState<BackendState>(backend); });
}

TRITONSERVER_Error* TRITONBACKEND_ModelInitialize(TRITONBACKEND_Model* model) {
  return kit::Guard([&] {
    auto state = std::make_unique<ModelState>();
    state->facts = kit::ReadModel(model);
    const kit::Options options(state->facts.config, kit::StateOf<BackendState>(kit::BackendOf(model))->settings);
    state->scale = static_cast<std::int32_t>(options.Integer("scale", 0, 1000).value_or(1));
    if (options.Boolean("find-file").value_or(false)) kit::FindModelFile(state->facts, "model.kit");
    if (state->facts.auto_complete) {
      Json completed = state->facts.config.document;
      completed.Set("max_batch_size", Json::Whole(8));
      kit::SetModelConfig(model, completed);
    }
    kit::ReportMemory(model, {{TRITONSERVER_MEMORY_CPU, 0, 4096}, {TRITONSERVER_MEMORY_CPU_PINNED, 0, 64}});
    kit::SetState(model, std::move(state));
  });
}

TRITONSERVER_Error* TRITONBACKEND_ModelFinalize(TRITONBACKEND_Model* model) {
  return kit::Guard([&] { kit::DeleteState<ModelState>(model); });
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceInitialize(TRITONBACKEND_ModelInstance* instance) {
  return kit::Guard([&] {
    auto state = std::make_unique<InstanceState>();
    state->facts = kit::ReadInstance(instance);
    KIT_LOG(INFO, "kit instance " + state->facts.name + " on device " + std::to_string(state->facts.device_id));
    kit::SetState(instance, std::move(state));
  });
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceFinalize(TRITONBACKEND_ModelInstance* instance) {
  return kit::Guard([&] { kit::DeleteState<InstanceState>(instance); });
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceExecute(TRITONBACKEND_ModelInstance* instance, TRITONBACKEND_Request** requests, const std::uint32_t count) {
  return kit::Guard([&] {
    auto* const model = kit::StateOf<ModelState>(kit::ModelOf(instance));
    auto* const state = kit::StateOf<InstanceState>(instance);
    kit::Must(kit::ExecuteBatch(instance, requests, count, model->facts.config, [&](kit::Batch& batch) { Run(batch, *model, *state); }));
  });
}

}  // extern "C"
