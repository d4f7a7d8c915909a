// What a batch answers: outputs, each member's share of them, and states.
#include <algorithm>
#include <cstring>

#include "common/batch.h"

namespace npu_console::kit {

std::vector<std::string> Batch::WantedOutputs() const {
  std::vector<std::string> wanted;
  const auto is_wanted = [&](const std::string& name) { return std::any_of(live_.begin(), live_.end(), [&](std::size_t member) { return Wants(member, name); }); };
  for (const TensorConfig& output : config_.outputs) {
    if (is_wanted(output.name)) wanted.push_back(output.name);
  }
  for (const std::size_t member : live_) {
    for (const std::string& name : members_[member].outputs) {
      if (std::find(wanted.begin(), wanted.end(), name) == wanted.end()) wanted.push_back(name);
    }
  }
  return wanted;
}

bool Batch::Wants(std::size_t member, const std::string& output) const {
  const std::vector<std::string>& outputs = members_[member].outputs;
  return std::find(outputs.begin(), outputs.end(), output) != outputs.end();
}

// The members' shapes of an output, in their order.
std::vector<std::vector<std::int64_t>> Batch::SharedShapes(const std::string& output, const std::vector<std::int64_t>& shape) const {
  std::vector<std::vector<std::int64_t>> shapes;
  const TensorConfig* const declared = config_.Output(output);
  for (const BatchTensorConfig& scattered : config_.batch_outputs) {
    if (declared == nullptr || std::find(scattered.target_names.begin(), scattered.target_names.end(), output) == scattered.target_names.end()) continue;
    for (const std::size_t member : live_) {
      const RequestInput* const source = Input(member, scattered.source_input);
      if (source == nullptr) throw InvalidArgument("a request lacks input '" + scattered.source_input + "', from which the model's batch tensors are computed");
      std::vector<std::int64_t> own = config_.is_batching() ? std::vector<std::int64_t>{members_[member].batch_size} : std::vector<std::int64_t>{};
      for (const std::int64_t dim : declared->dims) {
        own.push_back(dim != -1 ? dim : own.size() < source->shape.size() ? source->shape[own.size()] : 1);
      }
      shapes.push_back(std::move(own));
    }
    return shapes;
  }
  if (!config_.is_batching()) {
    // A configuration cannot say that an output is a scalar.
    const bool is_scalar = shape.empty() && declared != nullptr && declared->dims.size() == 1 && !declared->reshape.has_value();
    shapes.assign(live_.size(), is_scalar ? std::vector<std::int64_t>{1} : shape);
    return shapes;
  }
  if (shape.empty() || shape.front() != batch_size()) {
    throw Internal("output '" + output + "' of model '" + config_.name + "' has shape " + ShapeText(shape) + ", expected its first dimension to be the batch size " +
                   std::to_string(batch_size()) + ". Set max_batch_size to 0 if this output has no batch dimension");
  }
  for (const std::size_t member : live_) {
    std::vector<std::int64_t>& own = shapes.emplace_back(shape);
    own.front() = members_[member].batch_size;
  }
  return shapes;
}

std::vector<Slice> Batch::Share(const std::string& output, TRITONSERVER_DataType datatype, const std::vector<std::int64_t>& shape, const void* data,
                                std::uint64_t byte_size) const {
  const std::vector<std::vector<std::int64_t>> shapes = SharedShapes(output, shape);
  const std::uint64_t element = TRITONSERVER_DataTypeByteSize(datatype);
  // That the whole has a number of bytes holds for its parts, which are no more elements.
  ByteCount(datatype, shape);
  std::vector<Slice> slices;
  std::uint64_t position = 0;
  std::int64_t wanted = 0;
  bool is_countable = true;
  for (const std::vector<std::int64_t>& own : shapes) is_countable &= !__builtin_add_overflow(wanted, ElementCount(own), &wanted);
  if (!is_countable || wanted != ElementCount(shape)) {
    throw Internal("output '" + output + "' of model '" + config_.name + "' has shape " + ShapeText(shape) + ", which is " + std::to_string(ElementCount(shape)) +
                   " elements; scattered with the shapes of its source input it is to have " + std::to_string(wanted) +
                   ". Check batch_output and the dims of the output");
  }
  for (std::size_t index = 0; index < shapes.size(); ++index) {
    const std::int64_t count = ElementCount(shapes[index]);
    const std::uint64_t end = element == 0 ? SkipStrings(data, byte_size, position, count) : position + static_cast<std::uint64_t>(count) * element;
    slices.push_back({live_[index], shapes[index], position, end - position});
    position = end;
  }
  return slices;
}

TRITONBACKEND_Response* Batch::Response(std::size_t member) {
  Member& of = members_[member];
  if (of.response == nullptr) Must(TRITONBACKEND_ResponseNew(&of.response, of.request));
  return of.response;
}

void* Batch::OutputBuffer(std::size_t member, const std::string& name, TRITONSERVER_DataType datatype, const std::vector<std::int64_t>& shape, std::uint64_t byte_size) {
  TRITONBACKEND_Output* output = nullptr;
  Must(TRITONBACKEND_ResponseOutput(Response(member), &output, name.c_str(), datatype, shape.data(), static_cast<std::uint32_t>(shape.size())));
  void* buffer = nullptr;
  TRITONSERVER_MemoryType type = TRITONSERVER_MEMORY_CPU;
  std::int64_t type_id = 0;
  Must(TRITONBACKEND_OutputBuffer(output, &buffer, byte_size, &type, &type_id));
  if (type == TRITONSERVER_MEMORY_GPU) throw Unsupported("the server wants output '" + name + "' in the memory of a device, which this backend cannot write");
  return buffer;
}

bool Batch::CanJoin(const std::string& name, const std::vector<Slice>& slices) const {
  // Copying less costs nothing that could be measured; anything else that a server hands out is aligned so.
  constexpr std::uint64_t SMALLEST = 64 << 10, ALIGNMENT = 64;
  return !slices.empty() && std::all_of(slices.begin(), slices.end(), [&](const Slice& slice) {
    return slice.byte_size == slices.front().byte_size && slice.byte_size >= SMALLEST && slice.byte_size % ALIGNMENT == 0 && Wants(slice.member, name);
  });
}

void* Batch::JoinedOutputBuffer(const std::string& name, TRITONSERVER_DataType datatype, const std::vector<Slice>& slices) {
  char* first = nullptr;
  for (const Slice& slice : slices) {
    auto* const buffer = static_cast<char*>(OutputBuffer(slice.member, name, datatype, slice.shape, slice.byte_size));
    if (first == nullptr) first = buffer;
    if (buffer != first + slice.offset) return nullptr;
  }
  return first;
}

void Batch::Respond(const std::string& name, TRITONSERVER_DataType datatype, const std::vector<std::int64_t>& shape, const void* data, std::uint64_t byte_size) {
  for (const Slice& slice : Share(name, datatype, shape, data, byte_size)) {
    if (!Wants(slice.member, name)) continue;
    void* const buffer = OutputBuffer(slice.member, name, datatype, slice.shape, slice.byte_size);
    if (slice.byte_size > 0) std::memcpy(buffer, static_cast<const char*>(data) + slice.offset, slice.byte_size);
  }
}

void Batch::Respond(const std::string& name, TRITONSERVER_DataType datatype, const std::vector<std::int64_t>& shape, std::uint64_t byte_size, const Copy& copy) {
  for (const Slice& slice : Share(name, datatype, shape, nullptr, byte_size)) {
    if (!Wants(slice.member, name)) continue;
    void* const buffer = OutputBuffer(slice.member, name, datatype, slice.shape, slice.byte_size);
    if (slice.byte_size > 0) copy(buffer, slice.offset, slice.byte_size);
  }
}

void* Batch::StateBuffer(std::size_t member, const std::string& name, TRITONSERVER_DataType datatype, const std::vector<std::int64_t>& shape, std::uint64_t byte_size) {
  TRITONBACKEND_State* state = nullptr;
  Must(TRITONBACKEND_StateNew(&state, members_[member].request, name.c_str(), datatype, shape.data(), static_cast<std::uint32_t>(shape.size())));
  states_.push_back(state);
  void* buffer = nullptr;
  TRITONSERVER_MemoryType type = TRITONSERVER_MEMORY_CPU;
  std::int64_t type_id = 0;
  Must(TRITONBACKEND_StateBuffer(state, &buffer, byte_size, &type, &type_id));
  if (type == TRITONSERVER_MEMORY_GPU) throw Unsupported("the server keeps state '" + name + "' in the memory of a device, which this backend cannot write");
  return buffer;
}

bool Batch::IsState(const std::string& output) const {
  return std::any_of(config_.states.begin(), config_.states.end(), [&](const StateConfig& state) { return state.output_name == output; });
}

void Batch::KeepState(const std::string& output, TRITONSERVER_DataType datatype, const std::vector<std::int64_t>& shape, const void* data, std::uint64_t byte_size) {
  if (!IsState(output)) return;
  for (const Slice& slice : Share(output, datatype, shape, data, byte_size)) {
    void* const buffer = StateBuffer(slice.member, output, datatype, slice.shape, slice.byte_size);
    if (slice.byte_size > 0) std::memcpy(buffer, static_cast<const char*>(data) + slice.offset, slice.byte_size);
  }
}

void Batch::UpdateStates() {
  for (TRITONBACKEND_State* const state : states_) Must(TRITONBACKEND_StateUpdate(state));
  states_.clear();
}

}  // namespace npu_console::kit
