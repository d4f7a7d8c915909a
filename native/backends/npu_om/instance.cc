#include "npu_om/instance.h"

#include <algorithm>
#include <cstring>

#include "npu_om/auto_complete.h"

namespace npu_console::npu_om {

namespace {

/** Failed runs after which the instance asks to be started again: one request may be wrong, so many in a row mean that the copy or its stream is. */
constexpr int FAILURES_ALLOWED = 3;

/** Differs in the first dimension at most. */
bool IsPaddedByRows(const ascend::Dims& from, const ascend::Dims& to) { return !from.empty() && std::equal(from.begin() + 1, from.end(), to.begin() + 1, to.end()); }

}  // namespace

Instance::Instance(const ascend::AclApi& api, int device, const std::string& file, const kit::ModelConfig& config, const Settings& settings)
    : config_(config), padding_(settings.padding), device_id_(device), api_(api), file_(file), options_(settings.om), model_(Load()) {
  CheckConfig(config, model_->description());
  for (const std::string& note : model_->notes()) KIT_LOG(WARN, "model '" + config.name + "': " + note);
}

std::shared_ptr<ascend::OmModel> Instance::Load() const {
  return Translated([&] { return std::make_shared<ascend::OmModel>(ascend::Device::Acquire(api_, device_id_), file_, options_); });
}

void Instance::ReloadAfterReset() {
  // Where that failed once, the server starts the instance again: the requests until then do not wait for the card.
  if (!reload_failure_.empty()) throw kit::Unavailable(reload_failure_);
  if (!model_->device().WasReset()) return;
  std::shared_ptr<ascend::OmModel> fresh;
  std::string failure;
  try {
    fresh = Load();
  } catch (const kit::Error& error) {
    failure = "device " + std::to_string(device_id_) + " was reset after a fault, and the model cannot be loaded there again: " + error.what();
  }
  {
    const std::lock_guard lock(mutex_);
    reload_failure_ = failure;
    if (fresh != nullptr) {
      // The old one goes after the lock, unless a check holds it a little longer.
      model_.swap(fresh);
      failures_in_a_row_ = 0;
    }
  }
  if (!failure.empty()) throw kit::Unavailable(failure);
  KIT_LOG(INFO, "model '" + config_.name + "' was loaded onto device " + std::to_string(device_id_) + " again, which another model had reset after a fault");
}

void Instance::FillInput(kit::Batch& batch, std::size_t index, const ascend::RunPlan& plan) {
  const std::string& name = model_->description().inputs[index].name;
  const ascend::Dims& asked = plan.asked[index];
  const ascend::Dims& wanted = plan.inputs[index];
  const std::size_t bytes = model_->InputBytes(index, wanted);
  void* const staged = Translated([&] { return model_->Stage(index, bytes); });
  const auto check = [&](const kit::GatheredInput& input) {
    if (input.datatype == TritonType(model_->description().inputs[index].type) && input.byte_size == model_->InputBytes(index, asked)) return;
    throw kit::InvalidArgument("input '" + name + "' has " + std::to_string(input.byte_size) + " bytes of " + TRITONSERVER_DataTypeString(input.datatype) + ", the model takes " +
                               std::to_string(model_->InputBytes(index, asked)) + " bytes of " + ascend::TritonTypeName(model_->description().inputs[index].type));
  };
  if (asked == wanted || IsPaddedByRows(asked, wanted)) {
    const kit::GatheredInput input = batch.Gather(name, [&](std::uint64_t needed) { return needed <= bytes ? staged : gathered_.Reserve(needed); }, 0);
    check(input);
    std::memset(static_cast<char*>(staged) + input.byte_size, 0, bytes - input.byte_size);
    return;
  }
  const kit::GatheredInput input = batch.Gather(name, [&](std::uint64_t needed) { return gathered_.Reserve(needed); });
  check(input);
  ascend::CopyBlock(staged, wanted, input.data, asked, asked, ascend::ElementBytes(model_->description().inputs[index].type), true);
}

void Instance::Respond(kit::Batch& batch, const std::vector<ascend::OmOutput>& outputs) {
  const std::vector<std::string> wanted = batch.WantedOutputs();
  for (std::size_t index = 0; index < outputs.size(); index++) {
    const ascend::OmTensor& tensor = model_->description().outputs[index];
    const bool is_wanted = std::find(wanted.begin(), wanted.end(), tensor.name) != wanted.end();
    if (!is_wanted && !batch.IsState(tensor.name)) continue;
    const ascend::OmOutput& output = outputs[index];
    const std::size_t element = ascend::ElementBytes(tensor.type);
    const std::uint64_t bytes = static_cast<std::uint64_t>(ascend::ElementCount(output.cropped)) * element;
    const void* data = output.data;
    if (output.cropped != output.dims && !IsPaddedByRows(output.cropped, output.dims)) {
      void* const room = cropped_.Reserve(bytes);
      ascend::CopyBlock(room, output.cropped, output.data, output.dims, output.cropped, element, false);
      data = room;
    }
    // A configuration cannot say that an output is a scalar.
    const std::vector<std::int64_t> shape = output.cropped.empty() && !config_.is_batching() ? std::vector<std::int64_t>{1} : output.cropped;
    if (is_wanted) batch.Respond(tensor.name, TritonType(tensor.type), shape, data, bytes);
    batch.KeepState(tensor.name, TritonType(tensor.type), shape, data, bytes);
  }
  batch.UpdateStates();
}

void Instance::Execute(kit::Batch& batch) {
  ReloadAfterReset();
  const auto& inputs = model_->description().inputs;
  std::vector<ascend::Dims> asked;
  for (const ascend::OmTensor& input : inputs) {
    if (batch.Input(batch.members().front(), input.name) == nullptr) {
      throw kit::InvalidArgument("request lacks input '" + input.name + "' of model '" + config_.name + "'");
    }
    ascend::Dims shape = batch.GatheredShape(input.name);
    if (input.dims.empty() && shape == ascend::Dims{1}) shape.clear();
    asked.push_back(std::move(shape));
  }
  const ascend::RunPlan plan = Translated([&] { return model_->Plan(asked, padding_); });
  for (std::size_t index = 0; index < inputs.size(); index++) FillInput(batch, index, plan);
  batch.SetComputeStart(kit::Now());
  std::vector<ascend::OmOutput> outputs;
  try {
    outputs = model_->Run(plan);
    const std::lock_guard lock(mutex_);
    failures_in_a_row_ = 0;
  } catch (const ascend::Error& error) {
    const std::lock_guard lock(mutex_);
    if (error.scope() != ascend::FaultScope::Call) failures_in_a_row_++;
    last_failure_ = error.what();
    throw ToTriton(error);
  }
  batch.SetComputeEnd(kit::Now());
  Respond(batch, outputs);
}

void Instance::CheckReady() const {
  const std::lock_guard lock(mutex_);
  if (!reload_failure_.empty()) throw kit::Unavailable(reload_failure_);
  // One that was reset meanwhile is loaded again with the next batch.
  ascend::Device& device = model_->device();
  if (device.is_faulty() && !device.WasReset()) throw kit::Unavailable("device " + std::to_string(device_id_) + " is out of order: " + device.fault());
  if (failures_in_a_row_ >= FAILURES_ALLOWED) {
    throw kit::Unavailable(std::to_string(failures_in_a_row_) + " runs in a row failed, so the instance has to be started again. The last one: " + last_failure_);
  }
}

std::string Instance::Report() const {
  const std::shared_ptr<const ascend::OmModel> loaded = [&] {
    const std::lock_guard lock(mutex_);
    return model_;
  }();
  const ascend::OmDescription& model = loaded->description();
  const ascend::AclApi& api = api_;
  Json report = Json::Object({{"runs_on", Json::Text("npu")},
                              {"simulated", Json::Bool(api.is_simulated)},
                              {"device", Json::Whole(device_id_)},
                              {"graph", Json::Text(model.GraphKind())},
                              {"streams", Json::Whole(1)},
                              {"weight_bytes", Json::Whole(static_cast<std::int64_t>(loaded->weight_bytes()))},
                              {"workspace_bytes", Json::Whole(static_cast<std::int64_t>(loaded->work_bytes()))}});
  if (const std::string chip = ascend::SocName(api); !chip.empty()) report.Set("chip", Json::Text(chip));
  if (model.gear_input.has_value()) {
    Json gears = Json::Array();
    for (const ascend::Gear& gear : model.gears) gears.Append(Json::Text(gear.text));
    report.Set("gears", gears);
  }
  Json notes = Json::Array();
  if (const std::string version = api.Version(); !version.empty()) notes.Append(Json::Text("CANN " + version));
  for (const std::string& note : loaded->notes()) notes.Append(Json::Text(note));
  report.Set("notes", notes);
  return report.Write();
}

}  // namespace npu_console::npu_om
