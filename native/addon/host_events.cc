#include "host_events.h"

#include <cstring>

namespace npu_console {
namespace {

void Require(napi_env, napi_status status) {
  if (status != napi_ok) throw NoJavaScript();
}

napi_value Text(napi_env env, const char* text, std::size_t length = NAPI_AUTO_LENGTH) {
  napi_value value = nullptr;
  Require(env, napi_create_string_utf8(env, text, length, &value));
  return value;
}

napi_value Number(napi_env env, double number) {
  napi_value value = nullptr;
  Require(env, napi_create_double(env, number, &value));
  return value;
}

napi_value Small(napi_env env, std::uint32_t number) {
  napi_value value = nullptr;
  Require(env, napi_create_uint32(env, number, &value));
  return value;
}

napi_value Boolean(napi_env env, bool boolean) {
  napi_value value = nullptr;
  Require(env, napi_get_boolean(env, boolean, &value));
  return value;
}

napi_value List(napi_env env, std::size_t length) {
  napi_value value = nullptr;
  Require(env, napi_create_array_with_length(env, length, &value));
  return value;
}

napi_value Bytes(napi_env env, const TritonHostBuffer* buffers, std::uint32_t count) {
  std::uint64_t byte_size = 0;
  for (std::uint32_t index = 0; index < count; ++index) byte_size += buffers[index].byte_size;
  void* target = nullptr;
  napi_value value = nullptr;
  Require(env, napi_create_buffer(env, byte_size, &target, &value));
  for (std::uint32_t index = 0; index < count; ++index) {
    if (buffers[index].byte_size == 0) continue;
    std::memcpy(target, buffers[index].data, buffers[index].byte_size);
    target = static_cast<char*>(target) + buffers[index].byte_size;
  }
  return value;
}

// Making a buffer over foreign memory and collecting it costs as much as copying some ten thousand bytes.
constexpr std::uint64_t kSmallestLent = 64 << 10;

void GiveBack(napi_env, void*, void* memory) { tritonhost_memory_free(static_cast<TritonHostMemory*>(memory)); }

// The tensor's data where it is, which JavaScript then keeps alive. NULL: it has to be copied.
napi_value Lent(napi_env env, const TritonHostEvent& event, std::uint32_t index, TensorCopies* copies) {
  const TritonHostTensor& tensor = event.tensors[index];
  if (!copies->can_lend || tensor.buffer_count != 1 || tensor.buffers[0].byte_size < kSmallestLent) return nullptr;
  TritonHostMemory* const memory = tritonhost_keep_tensor(&event, index);
  if (memory == nullptr) return nullptr;
  napi_value value = nullptr;
  const napi_status status = napi_create_external_buffer(env, tensor.buffers[0].byte_size, const_cast<void*>(tensor.buffers[0].data), GiveBack, memory, &value);
  if (status == napi_ok) {
    ++copies->lent_tensors;
    copies->lent_bytes += tensor.buffers[0].byte_size;
    return value;
  }
  tritonhost_memory_free(memory);
  if (status != napi_no_external_buffers_allowed) throw NoJavaScript();
  copies->can_lend = false;
  return nullptr;
}

napi_value Copied(napi_env env, const TritonHostTensor& tensor, TensorCopies* copies) {
  for (std::uint32_t buffer = 0; buffer < tensor.buffer_count; ++buffer) copies->bytes += tensor.buffers[buffer].byte_size;
  ++copies->tensors;
  return Bytes(env, tensor.buffers, tensor.buffer_count);
}

class Object {
 public:
  explicit Object(napi_env env) : env_(env) { Require(env, napi_create_object(env, &value_)); }
  Object& Set(const char* name, napi_value value) {
    Require(env_, napi_set_named_property(env_, value_, name, value));
    return *this;
  }
  Object& SetText(const char* name, const char* text) { return text == nullptr ? *this : Set(name, Text(env_, text)); }
  Object& SetNumber(const char* name, double number) { return Set(name, Number(env_, number)); }
  Object& SetSmall(const char* name, std::uint32_t number) { return Set(name, Small(env_, number)); }
  napi_value value() const { return value_; }

 private:
  const napi_env env_;
  napi_value value_ = nullptr;
};

// [name, datatype, shape, data, ...]
napi_value Tensors(napi_env env, const TritonHostEvent& event, TensorCopies* copies) {
  const napi_value list = List(env, std::size_t{4} * event.tensor_count);
  for (std::uint32_t index = 0; index < event.tensor_count; ++index) {
    const TritonHostTensor& tensor = event.tensors[index];
    const napi_value shape = List(env, tensor.dims_count);
    for (std::uint32_t dim = 0; dim < tensor.dims_count; ++dim) Require(env, napi_set_element(env, shape, dim, Number(env, static_cast<double>(tensor.shape[dim]))));
    Require(env, napi_set_element(env, list, 4 * index, Text(env, tensor.name)));
    Require(env, napi_set_element(env, list, 4 * index + 1, Small(env, tensor.datatype)));
    Require(env, napi_set_element(env, list, 4 * index + 2, shape));
    Require(env, napi_set_element(env, list, 4 * index + 3, DataToJavaScript(env, event, index, copies)));
  }
  return list;
}

// [name, value, ...]: integers are bigints, BYTES are buffers.
napi_value Parameters(napi_env env, const TritonHostEvent& event) {
  const napi_value list = List(env, std::size_t{2} * event.parameter_count);
  for (std::uint32_t index = 0; index < event.parameter_count; ++index) {
    const TritonHostParameter& parameter = event.parameters[index];
    napi_value value = nullptr;
    switch (parameter.type) {
      case TRITONSERVER_PARAMETER_INT:
        Require(env, napi_create_bigint_int64(env, parameter.integer, &value));
        break;
      case TRITONSERVER_PARAMETER_BOOL:
        value = Boolean(env, parameter.boolean);
        break;
      case TRITONSERVER_PARAMETER_DOUBLE:
        value = Number(env, parameter.real);
        break;
      case TRITONSERVER_PARAMETER_BYTES: {
        const TritonHostBuffer bytes{parameter.bytes, parameter.byte_size};
        value = Bytes(env, &bytes, 1);
        break;
      }
      default:
        value = Text(env, parameter.bytes, parameter.byte_size);
    }
    Require(env, napi_set_element(env, list, 2 * index, Text(env, parameter.name)));
    Require(env, napi_set_element(env, list, 2 * index + 1, value));
  }
  return list;
}

napi_value Times(napi_env env, const TritonHostEvent& event) {
  const napi_value list = List(env, 4);
  for (std::uint32_t index = 0; index < 4; ++index) Require(env, napi_set_element(env, list, index, Number(env, static_cast<double>(event.times[index]))));
  return list;
}

napi_value Usages(napi_env env, const TritonHostEvent& event) {
  const napi_value list = List(env, event.usage_count);
  for (std::uint32_t index = 0; index < event.usage_count; ++index) {
    const TritonHostUsage& usage = event.usages[index];
    Object object(env);
    object.SetSmall("memoryType", usage.memory_type).SetNumber("id", static_cast<double>(usage.memory_type_id)).SetNumber("byteSize", static_cast<double>(usage.byte_size));
    Require(env, napi_set_element(env, list, index, object.value()));
  }
  return list;
}

void SetInference(napi_env env, const TritonHostEvent& event, Object* object) {
  const napi_value outputs = List(env, event.output_count);
  for (std::uint32_t index = 0; index < event.output_count; ++index) Require(env, napi_set_element(env, outputs, index, Text(env, event.outputs[index])));
  napi_value correlation = nullptr;
  if (event.correlation_string != nullptr) correlation = Text(env, event.correlation_string);
  else Require(env, napi_create_bigint_uint64(env, event.correlation_id, &correlation));
  napi_value priority = nullptr;
  Require(env, napi_create_bigint_uint64(env, event.priority, &priority));
  object->Set("outputs", outputs).Set("correlationId", correlation).Set("priority", priority).SetNumber("timeoutMicroseconds", static_cast<double>(event.timeout_us));
  object->SetNumber("traceId", static_cast<double>(event.trace_id)).SetNumber("parentTraceId", static_cast<double>(event.parent_trace_id));
}

}  // namespace

napi_value DataToJavaScript(napi_env env, const TritonHostEvent& event, std::uint32_t tensor, TensorCopies* copies) {
  const napi_value lent = Lent(env, event, tensor, copies);
  return lent != nullptr ? lent : Copied(env, event.tensors[tensor], copies);
}

napi_value ToJavaScript(napi_env env, const TritonHostEvent& event, TensorCopies* copies) {
  Object object(env);
  object.SetSmall("kind", event.kind).SetNumber("token", static_cast<double>(event.token));
  if (event.model != 0) object.SetNumber("model", static_cast<double>(event.model));
  if (event.has_error) object.SetSmall("errorCode", event.error_code).SetText("errorMessage", event.error_message);
  object.SetText("text", event.text).SetText("detail", event.detail).SetText("name", event.name);
  switch (event.kind) {
    case TRITONHOST_EVENT_RESPONSE:
      object.SetSmall("flags", event.flags).Set("isEmpty", Boolean(env, event.is_empty)).Set("tensors", Tensors(env, event, copies)).Set("parameters", Parameters(env, event));
      break;
    case TRITONHOST_EVENT_REQUEST_RELEASED:
      object.SetSmall("flags", event.flags);
      if (event.tensor_count > 0) object.Set("tensors", Tensors(env, event, copies));
      if (event.has_times) object.Set("times", Times(env, event));
      break;
    case TRITONHOST_EVENT_BATCH_STATISTICS:
      object.Set("times", Times(env, event)).SetNumber("batchSize", static_cast<double>(event.batch_size));
      break;
    case TRITONHOST_EVENT_RESPONSE_STATISTICS:
    case TRITONHOST_EVENT_TRACE_ACTIVITY:
      object.Set("times", Times(env, event));
      break;
    case TRITONHOST_EVENT_MEMORY_USAGE:
      object.SetNumber("instance", static_cast<double>(event.instance)).Set("usages", Usages(env, event));
      break;
    case TRITONHOST_EVENT_LOG:
      object.SetSmall("level", event.level).SetSmall("line", static_cast<std::uint32_t>(event.line));
      break;
    case TRITONHOST_EVENT_QUESTION:
      object.SetSmall("question", event.question).SetNumber("version", static_cast<double>(event.version)).SetSmall("flags", event.flags).Set("parameters", Parameters(env, event));
      break;
    case TRITONHOST_EVENT_INFER:
      object.SetNumber("version", static_cast<double>(event.version)).SetSmall("flags", event.flags).Set("tensors", Tensors(env, event, copies)).Set("parameters", Parameters(env, event));
      SetInference(env, event, &object);
      break;
    default:
      break;
  }
  return object.value();
}

}  // namespace npu_console
