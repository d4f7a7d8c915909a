#include "event_group.h"

#include <cstring>
#include <string>

namespace npu_console {
namespace {

// What is kept of a group keeps its whole pool: 256 KB at most.
constexpr std::uint64_t kLargestPooled = 1024;
constexpr std::size_t kPoolAlignment = 8;

bool IsPooled(const TritonHostTensor& tensor) { return tensor.buffer_count == 1 && tensor.buffers[0].byte_size <= kLargestPooled; }

std::size_t Rounded(std::uint64_t byte_size) { return (byte_size + kPoolAlignment - 1) / kPoolAlignment * kPoolAlignment; }

void Require(napi_status status) {
  if (status != napi_ok) throw NoJavaScript();
}

// Why the last call made no value. An exception that it left is taken away with that.
std::string TakeFailure(napi_env env) {
  const napi_extended_error_info* info = nullptr;
  std::string reason = napi_get_last_error_info(env, &info) == napi_ok && info->error_message != nullptr ? info->error_message : "unknown error of Node-API";
  bool is_pending = false;
  if (napi_is_exception_pending(env, &is_pending) != napi_ok || !is_pending) return reason;
  napi_value exception = nullptr;
  napi_value message = nullptr;
  char text[512];
  if (napi_get_and_clear_last_exception(env, &exception) == napi_ok && napi_get_named_property(env, exception, "message", &message) == napi_ok &&
      napi_get_value_string_utf8(env, message, text, sizeof text, nullptr) == napi_ok) {
    reason = text;
  }
  return reason;
}

// What the event is about, and an error instead of all that had to be brought over.
TritonHostEvent WithoutContent(const TritonHostEvent& event, const std::string& error) {
  TritonHostEvent left{};
  left.kind = event.kind;
  left.token = event.token;
  left.model = event.model;
  left.instance = event.instance;
  left.flags = event.flags;
  left.question = event.question;
  left.version = event.version;
  left.level = event.level;
  left.has_error = true;
  left.error_code = event.has_error ? event.error_code : TRITONSERVER_ERROR_INTERNAL;
  left.error_message = error.c_str();
  return left;
}

}  // namespace

EventGroup::EventGroup(napi_env env, const TritonHostEvent* const* events, std::size_t count, double* numbers, TensorCopies* copies)
    : env_(env), numbers_(numbers), copies_(copies) {
  Require(napi_create_array(env, &values_));
  MakePool(events, count);
  for (std::size_t index = 0; index < count; ++index) Add(*events[index]);
}

void EventGroup::MakePool(const TritonHostEvent* const* events, std::size_t count) {
  std::size_t byte_size = 0;
  for (std::size_t index = 0; index < count; ++index) {
    for (std::uint32_t tensor = 0; tensor < events[index]->tensor_count; ++tensor) {
      if (IsPooled(events[index]->tensors[tensor])) byte_size += Rounded(events[index]->tensors[tensor].buffers[0].byte_size);
    }
  }
  napi_value pool = nullptr;
  if (byte_size == 0) {
    Require(napi_get_null(env_, &pool));
  } else {
    void* data = nullptr;
    Require(napi_create_arraybuffer(env_, byte_size, &data, &pool));
    pool_ = static_cast<char*>(data);
  }
  AddValue(pool);
}

void EventGroup::Add(const TritonHostEvent& event) {
  const std::size_t count = count_;
  const std::uint32_t value_count = value_count_;
  const std::size_t pool_used = pool_used_;
  try {
    AddWhole(event);
  } catch (const NoJavaScript&) {
    const std::string error = "the backend host could not hand over what the backend gave (" + TakeFailure(env_) + "): a text may have 512 MB, a buffer what memory there is. "
                              "Let the backend make its outputs, parameters and messages smaller";
    count_ = count;
    value_count_ = value_count;
    pool_used_ = pool_used;
    AddWhole(WithoutContent(event, error));
  }
}

void EventGroup::AddWhole(const TritonHostEvent& event) {
  if (AddAsNumbers(event)) return;
  // No kind: the event is the next value.
  AddNumber(0);
  AddValue(ToJavaScript(env_, event, copies_));
}

bool EventGroup::AddAsNumbers(const TritonHostEvent& event) {
  if (event.has_error || event.text != nullptr || event.parameter_count > 0) return false;
  std::size_t needed = 16;
  for (std::uint32_t index = 0; index < event.tensor_count; ++index) needed += 4 + event.tensors[index].dims_count;
  if (needed > kNumbersOfEvent) return false;
  switch (event.kind) {
    case TRITONHOST_EVENT_BATCH_EXECUTED:
      AddNumber(event.kind);
      AddNumber(static_cast<double>(event.token));
      return true;
    case TRITONHOST_EVENT_RESPONSE:
      AddNumber(event.kind);
      AddNumber(static_cast<double>(event.token));
      AddNumber(event.flags);
      AddNumber(event.is_empty ? 1 : 0);
      AddTensors(event);
      return true;
    case TRITONHOST_EVENT_REQUEST_RELEASED:
      AddNumber(event.kind);
      AddNumber(static_cast<double>(event.token));
      AddNumber(event.flags);
      AddNumber(event.has_times ? 1 : 0);
      for (const std::uint64_t time : event.times) AddNumber(static_cast<double>(time));
      AddTensors(event);
      return true;
    case TRITONHOST_EVENT_BATCH_STATISTICS:
      AddNumber(event.kind);
      AddNumber(static_cast<double>(event.token));
      AddNumber(static_cast<double>(event.batch_size));
      for (const std::uint64_t time : event.times) AddNumber(static_cast<double>(time));
      return true;
    default:
      return false;
  }
}

void EventGroup::AddTensors(const TritonHostEvent& event) {
  AddNumber(event.tensor_count);
  for (std::uint32_t index = 0; index < event.tensor_count; ++index) {
    const TritonHostTensor& tensor = event.tensors[index];
    AddNumber(tensor.datatype);
    AddNumber(tensor.dims_count);
    for (std::uint32_t dim = 0; dim < tensor.dims_count; ++dim) AddNumber(static_cast<double>(tensor.shape[dim]));
    napi_value name = nullptr;
    Require(napi_create_string_utf8(env_, tensor.name, NAPI_AUTO_LENGTH, &name));
    AddValue(name);
    if (IsPooled(tensor) && pool_ != nullptr) {
      AddToPool(tensor.buffers[0]);
    } else {
      AddNumber(-1);
      AddValue(DataToJavaScript(env_, event, index, copies_));
    }
  }
}

void EventGroup::AddToPool(const TritonHostBuffer& buffer) {
  AddNumber(static_cast<double>(pool_used_));
  AddNumber(static_cast<double>(buffer.byte_size));
  if (buffer.byte_size > 0) std::memcpy(pool_ + pool_used_, buffer.data, buffer.byte_size);
  pool_used_ += Rounded(buffer.byte_size);
  ++copies_->tensors;
  copies_->bytes += buffer.byte_size;
}

void EventGroup::AddValue(napi_value value) { Require(napi_set_element(env_, values_, value_count_++, value)); }

}  // namespace npu_console
