#include "onnxruntime/instance.h"

#include <algorithm>
#include <cstring>

namespace npu_console::onnxruntime {

namespace {

// A configuration cannot say that an input is a scalar: it comes with one dimension of 1.
std::vector<std::int64_t> ModelShape(const TensorInfo& info, const std::vector<std::int64_t>& shape) {
  return info.dims.empty() && shape == std::vector<std::int64_t>{1} ? std::vector<std::int64_t>() : shape;
}

bool Contains(const std::vector<std::string>& names, const std::string& name) { return std::find(names.begin(), names.end(), name) != names.end(); }

}  // namespace

Instance::Instance(const Environment& environment, const kit::ModelConfig& config, const SessionSettings& settings, const std::string& model_path, const std::string& name,
                   CancelWatch& watch)
    : config_(config),
      api_(*environment.api),
      session_(environment, model_path, name, settings),
      binding_(api_.ReleaseIoBinding),
      run_options_([this] {
        Owned<OrtRunOptions> options(api_.ReleaseRunOptions);
        api_.Must(api_.CreateRunOptions(options.out()));
        return options;
      }()),
      watched_(watch, api_, run_options_.get()) {
  api_.Must(api_.CreateIoBinding(session_.handle(), binding_.out()));
  if (!settings.arena_shrinkage.empty()) {
    api_.Must(api_.AddRunConfigEntry(run_options_.get(), "memory.enable_memory_arena_shrinkage", settings.arena_shrinkage.c_str()));
  }
}

std::vector<Instance::Wanted> Instance::WantedOf(const kit::Batch& batch) const {
  std::vector<Wanted> wanted;
  const std::vector<std::string> asked = batch.WantedOutputs();
  const auto add = [&](const std::string& name, bool is_state) {
    const auto known = std::find_if(wanted.begin(), wanted.end(), [&](const Wanted& output) { return output.info->name == name; });
    if (known != wanted.end()) {
      known->is_state |= is_state;
      return;
    }
    const TensorInfo* const info = session_.Output(name);
    if (info == nullptr) throw kit::InvalidArgument("model '" + config_.name + "' has no output '" + name + "'");
    Wanted output;
    output.info = info;
    output.is_output = !is_state;
    output.is_state = is_state;
    wanted.push_back(output);
  };
  for (const std::string& name : asked) add(name, false);
  for (const kit::StateConfig& state : config_.states) add(state.output_name, true);
  // A run has to have an output; a request may ask for none.
  if (wanted.empty() && !session_.outputs().empty()) {
    wanted.emplace_back().info = &session_.outputs().front();
  }
  return wanted;
}

OrtValue* Instance::MakeStrings(const std::vector<std::int64_t>& shape, const void* data, std::uint64_t byte_size) {
  OrtValue* value = nullptr;
  api_.Must(api_.CreateTensorAsOrtValue(session_.environment().allocator, shape.data(), shape.size(), OnnxType(TRITONSERVER_TYPE_BYTES), &value));
  Owned<OrtValue> owned(api_.ReleaseValue);
  *owned.out() = value;
  const auto count = static_cast<std::size_t>(kit::ElementCount(shape));
  std::uint64_t position = 0;
  for (std::size_t index = 0; index < count; ++index) {
    const std::uint64_t end = kit::SkipStrings(data, byte_size, position, 1);
    const std::uint64_t length = end - position - sizeof(std::uint32_t);
    char* buffer = nullptr;
    api_.Must(api_.GetResizedStringTensorElementBuffer(value, index, length, &buffer));
    if (length > 0) std::memcpy(buffer, static_cast<const char*>(data) + position + sizeof(std::uint32_t), length);
    position = end;
  }
  if (position != byte_size) throw kit::InvalidArgument("a string tensor of shape " + kit::ShapeText(shape) + " has more bytes than elements");
  *owned.out() = nullptr;
  return value;
}

void Instance::BindValue(const std::string& name, TRITONSERVER_DataType datatype, const std::vector<std::int64_t>& shape, const void* data, std::uint64_t byte_size) {
  const TensorInfo* const info = session_.Input(name);
  if (info == nullptr) throw kit::InvalidArgument("model '" + config_.name + "' has no input '" + name + "'");
  const std::vector<std::int64_t> dims = ModelShape(*info, shape);
  for (std::size_t index = 0; index < dims.size() && index < info->dim_names.size(); ++index) {
    if (!info->dim_names[index].empty()) dim_values_.emplace_back(info->dim_names[index], dims[index]);
  }
  Owned<OrtValue> value(api_.ReleaseValue);
  if (datatype == TRITONSERVER_TYPE_BYTES) {
    *value.out() = MakeStrings(dims, data, byte_size);
  } else {
    // The library does not write to its inputs.
    api_.Must(api_.CreateTensorWithDataAsOrtValue(session_.environment().cpu_memory, const_cast<void*>(data), byte_size, dims.data(), dims.size(), OnnxType(datatype),
                                                  value.out()));
  }
  api_.Must(api_.BindInput(binding_.get(), name.c_str(), value.get()));
}

void Instance::BindInputs(kit::Batch& batch) {
  const std::vector<kit::RequestInput>& inputs = batch.inputs(batch.members().front());
  gathered_.resize(std::max(gathered_.size(), inputs.size()));
  dim_values_.clear();
  std::vector<std::string> given;
  for (std::size_t index = 0; index < inputs.size(); ++index) {
    const std::size_t alignment = std::max<std::uint32_t>(1, TRITONSERVER_DataTypeByteSize(inputs[index].datatype));
    const kit::GatheredInput input = batch.Gather(inputs[index].name, [&](std::uint64_t bytes) { return gathered_[index].Reserve(bytes); }, alignment);
    BindValue(input.name, input.datatype, input.shape, input.data, input.byte_size);
    given.push_back(input.name);
  }
  computed_ = kit::ComputeBatchInputs(batch, config_);
  for (const kit::ComputedInput& input : computed_) {
    BindValue(input.name, input.datatype, input.shape, input.data.data(), input.data.size() * sizeof(std::uint32_t));
    given.push_back(input.name);
  }
  // The library itself would find out in the middle of the run.
  for (const TensorInfo& input : session_.inputs()) {
    if (!Contains(given, input.name)) throw kit::InvalidArgument("request lacks input '" + input.name + "' of model '" + config_.name + "'");
  }
}

bool Instance::PredictShape(const TensorInfo& output, const kit::Batch& batch, std::vector<std::int64_t>& shape) const {
  if (output.datatype == TRITONSERVER_TYPE_INVALID || output.datatype == TRITONSERVER_TYPE_BYTES || session_.Input(output.name) != nullptr) return false;
  // The ABI does not tell a scalar from an unknown rank.
  if (output.dims.empty()) return false;
  shape = output.dims;
  for (std::size_t index = 0; index < shape.size(); ++index) {
    if (shape[index] >= 0) continue;
    const auto known = std::find_if(dim_values_.begin(), dim_values_.end(), [&](const auto& dim) { return !output.dim_names[index].empty() && dim.first == output.dim_names[index]; });
    if (known != dim_values_.end()) {
      shape[index] = known->second;
    } else if (index == 0 && config_.is_batching()) {
      shape[index] = batch.batch_size();
    } else {
      return false;
    }
  }
  return true;
}

bool Instance::CanPlace(const kit::Batch& batch, Wanted& output, std::vector<kit::Slice>& slices) const {
  const bool is_lone = batch.members().size() == 1;
  if (!config_.batch_outputs.empty() || !(output.is_output || output.is_state) || !(is_lone || joins_outputs_)) return false;
  if (!PredictShape(*output.info, batch, output.shape)) return false;
  slices = batch.Share(output.info->name, output.info->datatype, output.shape);
  return is_lone || (!output.is_state && batch.CanJoin(output.info->name, slices));
}

bool Instance::BindOutputs(kit::Batch& batch, std::vector<Wanted>& wanted, bool place) {
  const bool is_lone = batch.members().size() == 1;
  for (Wanted& output : wanted) {
    const TensorInfo& info = *output.info;
    std::vector<kit::Slice> slices;
    output.is_placed = place && CanPlace(batch, output, slices);
    if (!output.is_placed) {
      api_.Must(api_.BindOutputToDevice(binding_.get(), info.name.c_str(), session_.environment().cpu_memory));
      continue;
    }
    output.byte_size = 0;
    for (const kit::Slice& slice : slices) output.byte_size += slice.byte_size;
    const kit::Slice& first = slices.front();
    if (!is_lone) {
      output.data = batch.JoinedOutputBuffer(info.name, info.datatype, slices);
      if (output.data == nullptr) return false;
    } else if (output.is_output) {
      output.data = batch.OutputBuffer(first.member, info.name, info.datatype, first.shape, output.byte_size);
    } else {
      output.data = batch.StateBuffer(first.member, info.name, info.datatype, first.shape, output.byte_size);
    }
    Owned<OrtValue> value(api_.ReleaseValue);
    api_.Must(api_.CreateTensorWithDataAsOrtValue(session_.environment().cpu_memory, output.data, output.byte_size, output.shape.data(), output.shape.size(), info.onnx_type,
                                                  value.out()));
    api_.Must(api_.BindOutput(binding_.get(), info.name.c_str(), value.get()));
  }
  return true;
}

void Instance::Run(kit::Batch& batch) {
  watched_.Begin(batch);
  OrtStatus* const status = api_.RunWithBinding(session_.handle(), run_options_.get(), binding_.get());
  const bool is_cancelled = watched_.End();
  if (status != nullptr && is_cancelled) {
    api_.ReleaseStatus(status);
    throw kit::Error(TRITONSERVER_ERROR_CANCELLED, "request was cancelled while model '" + config_.name + "' ran");
  }
  api_.Must(status);
}

void Instance::Execute(kit::Batch& batch) {
  struct Unbind {
    const OrtApi& api;
    OrtIoBinding* binding;
    ~Unbind() {
      api.ClearBoundInputs(binding);
      api.ClearBoundOutputs(binding);
    }
  };
  // The binding holds on to buffers that are the requests'.
  const Unbind unbind{api_, binding_.get()};
  std::vector<Wanted> wanted = WantedOf(batch);
  BindInputs(batch);
  if (!BindOutputs(batch, wanted, places_outputs_)) {
    // Another server than ours: from now on what a batch gives is cut up.
    joins_outputs_ = false;
    api_.ClearBoundOutputs(binding_.get());
    batch.DropResponses();
    BindOutputs(batch, wanted, places_outputs_);
  }
  batch.SetComputeStart(kit::Now());
  try {
    Run(batch);
  } catch (const OrtError& error) {
    const bool is_any_placed = std::any_of(wanted.begin(), wanted.end(), [](const Wanted& output) { return output.is_placed; });
    if (error.ort_code() != kOrtInvalidArgument || !is_any_placed) throw;
    // Either the request is wrong, or a model gives other shapes than it says: then they are taken as they come from now on.
    api_.ClearBoundOutputs(binding_.get());
    batch.DropResponses();
    BindOutputs(batch, wanted, false);
    Run(batch);
    places_outputs_ = false;
    KIT_LOG(INFO, "model '" + config_.name + "' gives outputs of other shapes than its file says; they are copied from now on (" + error.message() + ")");
  }
  batch.SetComputeEnd(kit::Now());
  Deliver(batch, wanted);
  batch.UpdateStates();
}

void Instance::Deliver(kit::Batch& batch, const std::vector<Wanted>& wanted) {
  OrtValue** values = nullptr;
  std::size_t count = 0;
  OrtAllocator* const allocator = session_.environment().allocator;
  api_.Must(api_.GetBoundOutputValues(binding_.get(), allocator, &values, &count));
  std::vector<Owned<OrtValue>> owned;
  owned.reserve(count);
  for (std::size_t index = 0; index < count; ++index) *owned.emplace_back(api_.ReleaseValue).out() = values[index];
  if (values != nullptr) api_.Must(api_.AllocatorFree(allocator, values));
  if (count != wanted.size()) throw kit::Internal("the run of model '" + config_.name + "' gave " + std::to_string(count) + " outputs instead of " + std::to_string(wanted.size()));
  for (std::size_t index = 0; index < count; ++index) DeliverOne(batch, wanted[index], owned[index].get());
}

void Instance::DeliverOne(kit::Batch& batch, const Wanted& output, OrtValue* value) {
  const std::string& name = output.info->name;
  if (output.is_placed) {
    if (output.is_output) batch.KeepState(name, output.info->datatype, output.shape, output.data, output.byte_size);
    return;
  }
  if (!output.is_output && !output.is_state) return;
  const ValueInfo info = Describe(api_, name, value);
  const TRITONSERVER_DataType datatype = TritonType(info.onnx_type);
  if (datatype == TRITONSERVER_TYPE_INVALID) throw kit::Internal("output '" + name + "' has the ONNX element type " + std::to_string(info.onnx_type) + ", which the protocol does not know");
  std::string strings;
  void* data = nullptr;
  std::uint64_t byte_size = kit::ByteCount(datatype, info.shape);
  if (datatype == TRITONSERVER_TYPE_BYTES) {
    const auto count = static_cast<std::size_t>(kit::ElementCount(info.shape));
    std::size_t length = 0;
    api_.Must(api_.GetStringTensorDataLength(value, &length));
    std::string content(length, '\0');
    std::vector<std::size_t> offsets(count);
    if (count > 0) api_.Must(api_.GetStringTensorContent(value, content.data(), length, offsets.data(), count));
    strings.reserve(length + count * sizeof(std::uint32_t));
    for (std::size_t index = 0; index < count; ++index) {
      const std::size_t end = index + 1 < count ? offsets[index + 1] : length;
      const auto size = static_cast<std::uint32_t>(end - offsets[index]);
      strings.append(reinterpret_cast<const char*>(&size), sizeof size).append(content, offsets[index], size);
    }
    data = strings.data();
    byte_size = strings.size();
  } else {
    api_.Must(api_.GetTensorMutableData(value, &data));
  }
  if (output.is_output) batch.Respond(name, datatype, info.shape, data, byte_size);
  batch.KeepState(name, datatype, info.shape, data, byte_size);
}

std::string Instance::Report() const {
  Json notes = Json::Array({Json::Text("ONNX Runtime " + api_.version)});
  for (const std::string& note : session_.notes()) notes.Append(Json::Text(note));
  Json report = Json::Object({{"runs_on", Json::Text("cpu")}, {"notes", notes}});
  return report.Write();
}

}  // namespace npu_console::onnxruntime
