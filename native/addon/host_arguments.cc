#include "host_arguments.h"

namespace npu_console {

void ThrowIfFailed(Napi::Env env, TRITONSERVER_Error* error) {
  if (error == nullptr) return;
  Napi::Error thrown = Napi::Error::New(env, TRITONSERVER_ErrorMessage(error));
  thrown.Set("code", Napi::Number::New(env, TRITONSERVER_ErrorCode(error)));
  TRITONSERVER_ErrorDelete(error);
  throw thrown;
}

void HostArguments::Require(napi_status status, const char* what) const {
  if (status != napi_ok) throw Napi::TypeError::New(env_, std::string("the Triton host expected ") + what);
}

std::uint32_t HostArguments::Length(napi_value list) const {
  std::uint32_t length = 0;
  Require(napi_get_array_length(env_, list, &length), "an array");
  return length;
}

napi_value HostArguments::Element(napi_value list, std::uint32_t index) const {
  napi_value element = nullptr;
  Require(napi_get_element(env_, list, index, &element), "an array");
  return element;
}

double HostArguments::Number(napi_value value) const {
  double number = 0;
  Require(napi_get_value_double(env_, value, &number), "a number");
  return number;
}

std::uint64_t HostArguments::Uint64(napi_value value) const {
  constexpr double limit = 18446744073709551616.0;  // 2^64
  const double number = Number(value);
  if (!(number > 0)) return 0;
  return number < limit ? static_cast<std::uint64_t>(number) : UINT64_MAX;
}

const std::string& HostArguments::Keep(napi_value value) {
  // One call where the text is short, as names are.
  char buffer[64];
  std::size_t length = 0;
  Require(napi_get_value_string_utf8(env_, value, buffer, sizeof buffer, &length), "a string");
  // Cut only at the end of a character: up to three bytes before the end of the buffer.
  if (length < sizeof buffer - 4) return texts_.emplace_back(buffer, length);
  Require(napi_get_value_string_utf8(env_, value, nullptr, 0, &length), "a string");
  std::string& text = texts_.emplace_back(length, '\0');
  Require(napi_get_value_string_utf8(env_, value, text.data(), length + 1, &length), "a string");
  return text;
}

const char* HostArguments::Text(napi_value value) { return Keep(value).c_str(); }

const char* HostArguments::OptionalText(napi_value value) {
  napi_valuetype type;
  Require(napi_typeof(env_, value, &type), "a value");
  return type == napi_null || type == napi_undefined ? nullptr : Text(value);
}

const std::vector<const char*>& HostArguments::Texts(napi_value list) {
  const std::uint32_t length = Length(list);
  std::vector<const char*>& texts = text_lists_.emplace_back();
  texts.reserve(length);
  for (std::uint32_t index = 0; index < length; ++index) texts.push_back(Text(Element(list, index)));
  return texts;
}

TritonHostBuffer HostArguments::Bytes(napi_value value) const {
  napi_typedarray_type type;
  std::size_t length = 0;
  void* data = nullptr;
  Require(napi_get_typedarray_info(env_, value, &type, &length, &data, nullptr, nullptr), "a Uint8Array");
  Require(type == napi_uint8_array ? napi_ok : napi_invalid_arg, "a Uint8Array");
  return {data, length};
}

const std::vector<TritonHostTensor>& HostArguments::Tensors(napi_value list) {
  const std::uint32_t length = Length(list);
  std::vector<TritonHostTensor>& tensors = tensors_.emplace_back();
  tensors.reserve(length / 4);
  for (std::uint32_t index = 0; index + 3 < length; index += 4) {
    TritonHostTensor tensor{};
    tensor.name = Text(Element(list, index));
    tensor.datatype = static_cast<TRITONSERVER_DataType>(Uint32(Element(list, index + 1)));
    const napi_value dims = Element(list, index + 2);
    tensor.dims_count = Length(dims);
    std::vector<std::int64_t>& shape = shapes_.emplace_back();
    shape.reserve(tensor.dims_count);
    for (std::uint32_t dim = 0; dim < tensor.dims_count; ++dim) shape.push_back(static_cast<std::int64_t>(Number(Element(dims, dim))));
    tensor.shape = shape.data();
    const napi_value data = Element(list, index + 3);
    std::vector<TritonHostBuffer>& buffers = buffers_.emplace_back();
    bool is_list = false;
    Require(napi_is_array(env_, data, &is_list), "a value");
    if (is_list) {
      const std::uint32_t pieces = Length(data);
      for (std::uint32_t piece = 0; piece < pieces; ++piece) buffers.push_back(Bytes(Element(data, piece)));
    } else {
      buffers.push_back(Bytes(data));
    }
    tensor.buffers = buffers.data();
    tensor.buffer_count = static_cast<std::uint32_t>(buffers.size());
    tensors.push_back(tensor);
  }
  return tensors;
}

const std::vector<TritonHostParameter>& HostArguments::Parameters(napi_value list) {
  const std::uint32_t length = Length(list);
  std::vector<TritonHostParameter>& parameters = parameters_.emplace_back();
  parameters.reserve(length / 3);
  for (std::uint32_t index = 0; index + 2 < length; index += 3) {
    TritonHostParameter parameter{};
    parameter.name = Text(Element(list, index));
    parameter.type = static_cast<TRITONSERVER_ParameterType>(Uint32(Element(list, index + 1)));
    const napi_value value = Element(list, index + 2);
    switch (parameter.type) {
      case TRITONSERVER_PARAMETER_INT: {
        bool is_lossless = false;
        Require(napi_get_value_bigint_int64(env_, value, &parameter.integer, &is_lossless), "a bigint");
        break;
      }
      case TRITONSERVER_PARAMETER_BOOL:
        Require(napi_get_value_bool(env_, value, &parameter.boolean), "a boolean");
        break;
      case TRITONSERVER_PARAMETER_DOUBLE:
        parameter.real = Number(value);
        break;
      default: {
        const std::string& text = Keep(value);
        parameter.bytes = text.c_str();
        parameter.byte_size = text.size();
      }
    }
    parameters.push_back(parameter);
  }
  return parameters;
}

TritonHostRequest HostArguments::Request(napi_value fields) {
  TritonHostRequest request{};
  request.token = Token(Element(fields, 0));
  request.id = Text(Element(fields, 1));
  const napi_value correlation = Element(fields, 2);
  napi_valuetype type;
  Require(napi_typeof(env_, correlation, &type), "a value");
  if (type == napi_string) {
    request.correlation_string = Text(correlation);
  } else {
    bool is_lossless = false;
    Require(napi_get_value_bigint_uint64(env_, correlation, &request.correlation_id, &is_lossless), "a bigint or a string");
  }
  request.flags = Uint32(Element(fields, 3));
  request.timeout_us = Uint64(Element(fields, 4));
  const auto& inputs = Tensors(Element(fields, 5));
  request.inputs = inputs.data();
  request.input_count = static_cast<std::uint32_t>(inputs.size());
  const auto& outputs = Texts(Element(fields, 6));
  request.outputs = outputs.data();
  request.output_count = static_cast<std::uint32_t>(outputs.size());
  const auto& parameters = Parameters(Element(fields, 7));
  request.parameters = parameters.data();
  request.parameter_count = static_cast<std::uint32_t>(parameters.size());
  request.trace_id = Uint64(Element(fields, 8));
  return request;
}

const std::vector<TritonHostRequest>& HostArguments::Requests(napi_value list) {
  const std::uint32_t length = Length(list);
  requests_.reserve(length);
  for (std::uint32_t index = 0; index < length; ++index) requests_.push_back(Request(Element(list, index)));
  return requests_;
}

}  // namespace npu_console
