#include "common/batch.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>

namespace npu_console::kit {

namespace {

// Of what the server refuses when nobody is left to tell.
void LogRefusal(const char* what, TRITONSERVER_Error* error) noexcept {
  if (error == nullptr) return;
  KIT_LOG(ERROR, std::string(what) + ": " + TRITONSERVER_ErrorMessage(error));
  TRITONSERVER_ErrorDelete(error);
}

std::vector<std::int64_t> Tail(const std::vector<std::int64_t>& shape) {
  return shape.empty() ? shape : std::vector<std::int64_t>(shape.begin() + 1, shape.end());
}

bool IsAligned(const void* data, std::size_t alignment) { return reinterpret_cast<std::uintptr_t>(data) % alignment == 0; }

RequestInput ReadInput(TRITONBACKEND_Input* input) {
  RequestInput read;
  const char* name = nullptr;
  const std::int64_t* shape = nullptr;
  std::uint32_t dims = 0, pieces = 0;
  Must(TRITONBACKEND_InputProperties(input, &name, &read.datatype, &shape, &dims, &read.byte_size, &pieces));
  read.name = name;
  read.shape.assign(shape, shape + dims);
  std::uint64_t held = 0;
  for (std::uint32_t index = 0; index < pieces; ++index) {
    Piece piece;
    TRITONSERVER_MemoryType type = TRITONSERVER_MEMORY_CPU;
    std::int64_t type_id = 0;
    Must(TRITONBACKEND_InputBuffer(input, index, &piece.data, &piece.byte_size, &type, &type_id));
    if (type == TRITONSERVER_MEMORY_GPU) throw Unsupported("input '" + read.name + "' lies in the memory of a device, which this backend cannot read");
    if (piece.byte_size == 0) continue;
    held += piece.byte_size;
    read.pieces.push_back(piece);
  }
  const std::uint64_t counted = ByteCount(read.datatype, read.shape);
  const std::uint64_t wanted = TRITONSERVER_DataTypeByteSize(read.datatype) == 0 ? read.byte_size : counted;
  if (held != read.byte_size || wanted != read.byte_size) {
    throw InvalidArgument("input '" + read.name + "' of shape " + ShapeText(read.shape) + " is " + std::to_string(wanted) + " bytes, but came with " + std::to_string(held));
  }
  return read;
}

}  // namespace

std::uint64_t Now() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count());
}

void* GrowingBuffer::Reserve(std::uint64_t byte_size) {
  if (byte_size > capacity_) {
    const std::uint64_t rounded = (byte_size + 63) / 64 * 64;
    memory_.reset();
    capacity_ = 0;
    memory_.reset(std::aligned_alloc(64, rounded));
    if (memory_ == nullptr) throw std::bad_alloc();
    capacity_ = rounded;
  }
  return memory_.get();
}

Batch::Batch(TRITONBACKEND_ModelInstance* instance, TRITONBACKEND_Request** requests, std::uint32_t count, const ModelConfig& config)
    : instance_(instance), config_(config), exec_start_(Now()) {
  // Whatever can run out of memory before the first request is touched does so here, while the server still owns all of them.
  members_.resize(count);
  live_.reserve(count);
  for (std::uint32_t index = 0; index < count; ++index) {
    Member& member = members_[index];
    member.request = requests[index];
    try {
      Read(member);
      if (!live_.empty()) CheckAlike(members_[live_.front()], member);
      live_.push_back(index);
    } catch (...) {
      member.error = CurrentError();
    }
  }
}

Batch::~Batch() { Finish(); }

void Batch::Read(Member& member) const {
  std::uint32_t count = 0;
  Must(TRITONBACKEND_RequestInputCount(member.request, &count));
  member.inputs.reserve(count);
  for (std::uint32_t index = 0; index < count; ++index) {
    TRITONBACKEND_Input* input = nullptr;
    Must(TRITONBACKEND_RequestInputByIndex(member.request, index, &input));
    member.inputs.push_back(ReadInput(input));
  }
  if (config_.is_batching() && !member.inputs.empty()) {
    for (const RequestInput& input : member.inputs) {
      if (input.shape.empty()) throw InvalidArgument("input '" + input.name + "' has no batch dimension");
    }
    member.batch_size = member.inputs.front().shape.front();
  }
  Must(TRITONBACKEND_RequestOutputCount(member.request, &count));
  member.outputs.reserve(count);
  for (std::uint32_t index = 0; index < count; ++index) {
    const char* name = nullptr;
    Must(TRITONBACKEND_RequestOutputName(member.request, index, &name));
    member.outputs.emplace_back(name);
  }
}

void Batch::CheckAlike(const Member& first, const Member& member) const {
  if (!config_.is_batching()) throw Internal("a model without batch dimension was given more than one request at a time");
  for (const RequestInput& input : first.inputs) {
    const auto same = std::find_if(member.inputs.begin(), member.inputs.end(), [&](const RequestInput& candidate) { return candidate.name == input.name; });
    if (same == member.inputs.end()) throw Internal("request of a batch lacks input '" + input.name + "'");
    if (same->datatype != input.datatype) throw InvalidArgument("input '" + input.name + "' has another datatype than in the other requests of its batch");
    const TensorConfig* const declared = config_.Input(input.name);
    if (declared != nullptr && declared->is_ragged) continue;
    if (Tail(same->shape) != Tail(input.shape)) {
      throw InvalidArgument("input '" + input.name + "' has shape " + ShapeText(same->shape) + ", unlike " + ShapeText(input.shape) + " in the other requests of its batch");
    }
  }
  if (member.inputs.size() != first.inputs.size()) throw Internal("request of a batch has other inputs than the first one");
}

std::int64_t Batch::batch_size() const {
  std::int64_t sum = 0;
  for (const std::size_t member : live_) sum += members_[member].batch_size;
  return sum;
}

const RequestInput* Batch::Input(std::size_t member, const std::string& name) const {
  for (const RequestInput& input : members_[member].inputs) {
    if (input.name == name) return &input;
  }
  return nullptr;
}

const RequestInput& Batch::Needed(std::size_t member, const std::string& name) const {
  const RequestInput* const input = Input(member, name);
  if (input == nullptr) throw InvalidArgument("request lacks input '" + name + "' of model '" + config_.name + "'");
  return *input;
}

bool Batch::IsCancelled() const {
  for (const std::size_t member : live_) {
    bool is_cancelled = false;
    Must(TRITONBACKEND_RequestIsCancelled(members_[member].request, &is_cancelled));
    if (!is_cancelled) return false;
  }
  return !live_.empty();
}

std::vector<std::int64_t> Batch::GatheredShape(const std::string& name) const {
  const RequestInput& first = Needed(live_.at(0), name);
  const TensorConfig* const declared = config_.Input(name);
  std::vector<std::int64_t> shape = first.shape;
  if (config_.is_batching() && declared != nullptr && declared->is_ragged) {
    shape = {0};
    for (const std::size_t member : live_) shape[0] += ElementCount(Needed(member, name).shape);
  } else if (live_.size() > 1) {
    shape[0] = 0;
    for (const std::size_t member : live_) shape[0] += Needed(member, name).shape[0];
  }
  return shape;
}

GatheredInput Batch::Gather(const std::string& name, const Allocate& allocate, std::size_t alignment) const {
  const RequestInput& first = Needed(live_.at(0), name);
  GatheredInput gathered{name, first.datatype, GatheredShape(name), nullptr, 0, false};
  for (const std::size_t member : live_) gathered.byte_size += Needed(member, name).byte_size;
  if (live_.size() == 1 && first.pieces.size() == 1 && alignment != 0 && IsAligned(first.pieces[0].data, alignment)) {
    gathered.data = first.pieces[0].data;
    gathered.is_borrowed = true;
    return gathered;
  }
  auto* target = static_cast<char*>(allocate(gathered.byte_size));
  gathered.data = target;
  for (const std::size_t member : live_) {
    for (const Piece& piece : Needed(member, name).pieces) {
      std::memcpy(target, piece.data, piece.byte_size);
      target += piece.byte_size;
    }
  }
  return gathered;
}

void Batch::DropResponses() {
  for (Member& member : members_) {
    if (member.response == nullptr) continue;
    LogRefusal("a response could not be taken back", TRITONBACKEND_ResponseDelete(member.response));
    member.response = nullptr;
  }
  // States that are not updated go with their requests.
  states_.clear();
}

void Batch::Fail(std::size_t member, const Error& error) {
  if (!members_[member].error.has_value()) members_[member].error = error;
  std::erase(live_, member);
}

void Batch::FailAll(const Error& error) {
  for (Member& member : members_) {
    if (!member.error.has_value()) member.error = error;
  }
  live_.clear();
}

void Batch::Finish() noexcept {
  if (is_finished_) return;
  is_finished_ = true;
  const std::uint64_t exec_end = Now();
  if (compute_start_ == 0) compute_start_ = exec_start_;
  if (compute_end_ == 0) compute_end_ = exec_end;
  std::uint64_t succeeded = 0;
  for (Member& member : members_) {
    if (member.error.has_value() && member.response != nullptr) {
      // Half a response is none.
      LogRefusal("a response could not be taken back", TRITONBACKEND_ResponseDelete(member.response));
      member.response = nullptr;
    }
    TRITONSERVER_Error* error = member.error.has_value() ? member.error->ToTriton() : nullptr;
    if (member.response == nullptr) LogRefusal("a response could not be made", TRITONBACKEND_ResponseNew(&member.response, member.request));
    if (member.response != nullptr) {
      LogRefusal("a response could not be sent", TRITONBACKEND_ResponseSend(member.response, TRITONSERVER_RESPONSE_COMPLETE_FINAL, error));
      member.response = nullptr;
    }
    TRITONSERVER_ErrorDelete(error);
    if (!member.error.has_value()) succeeded += static_cast<std::uint64_t>(member.batch_size);
  }
  if (succeeded > 0) {
    LogRefusal("statistics were refused",
               TRITONBACKEND_ModelInstanceReportBatchStatistics(instance_, succeeded, exec_start_, compute_start_, compute_end_, exec_end));
  }
  for (Member& member : members_) {
    LogRefusal("statistics were refused",
               TRITONBACKEND_ModelInstanceReportStatistics(instance_, member.request, !member.error.has_value(), exec_start_, compute_start_, compute_end_, exec_end));
    LogRefusal("a request could not be released", TRITONBACKEND_RequestRelease(member.request, TRITONSERVER_REQUEST_RELEASE_ALL));
  }
}

}  // namespace npu_console::kit
