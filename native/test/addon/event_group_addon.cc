// An addon for tests: groups of events that no backend of a test could cause, given to JavaScript as the product's addon does. The claims about sizes are only claims:
// Node-API refuses such a size before it reads anything.
#include <napi.h>

#include <climits>
#include <string>
#include <vector>

#include "event_group.h"

namespace npu_console {
namespace {

constexpr std::uint64_t kTooLargeForAnyBuffer = std::uint64_t{1} << 60;
constexpr std::uint64_t kTooLongForAnyText = std::uint64_t{INT_MAX} + 1;

// A response with an output Y of two bytes.
class Response : public TritonHostEvent {
 public:
  explicit Response(std::uint64_t its_token) : TritonHostEvent{} {
    kind = TRITONHOST_EVENT_RESPONSE;
    token = its_token;
    flags = TRITONSERVER_RESPONSE_COMPLETE_FINAL;
    buffer_.data = bytes_;
    buffer_.byte_size = sizeof bytes_;
    tensor_.name = "Y";
    tensor_.datatype = TRITONSERVER_TYPE_UINT8;
    tensor_.shape = &length_;
    tensor_.dims_count = 1;
    tensor_.buffers = &buffer_;
    tensor_.buffer_count = 1;
    tensors = &tensor_;
    tensor_count = 1;
  }
  Response(const Response&) = delete;
  Response& operator=(const Response&) = delete;

  void ClaimBytes(std::uint64_t byte_size) { buffer_.byte_size = byte_size; }
  void AddText(std::uint64_t byte_size) {
    parameter_.name = "said";
    parameter_.type = TRITONSERVER_PARAMETER_STRING;
    parameter_.bytes = "text";
    parameter_.byte_size = byte_size;
    parameters = &parameter_;
    parameter_count = 1;
  }

 private:
  const char bytes_[2] = {5, 6};
  const std::int64_t length_ = 2;
  TritonHostBuffer buffer_{};
  TritonHostTensor tensor_{};
  TritonHostParameter parameter_{};
};

// group(numbers: Float64Array, [name of an event, ...]): [count, values] as `TritonHost` gives them; the events have the tokens 1, 2, ...
Napi::Value Group(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  Napi::Float64Array numbers = info[0].As<Napi::Float64Array>();
  const Napi::Array names = info[1].As<Napi::Array>();
  std::vector<std::unique_ptr<Response>> responses;
  std::vector<const TritonHostEvent*> events;
  for (std::uint32_t index = 0; index < names.Length(); ++index) {
    const std::string name = names.Get(index).As<Napi::String>();
    Response& response = *responses.emplace_back(std::make_unique<Response>(index + 1));
    if (name == "large output") response.ClaimBytes(kTooLargeForAnyBuffer);
    if (name == "long text") response.AddText(kTooLongForAnyText);
    if (name == "text") response.AddText(4);
    events.push_back(&response);
  }
  if (numbers.ElementLength() < EventGroup::Capacity(events.size())) throw Napi::TypeError::New(env, "the numbers are too few for that many events");
  TensorCopies copies;
  copies.can_lend = false;
  const EventGroup group(env, events.data(), events.size(), numbers.Data(), &copies);
  Napi::Array result = Napi::Array::New(env, 2);
  result.Set(0U, Napi::Number::New(env, static_cast<double>(group.count())));
  result.Set(1U, Napi::Value(env, group.values()));
  return result;
}

Napi::Object Initialize(Napi::Env env, Napi::Object exports) {
  exports.Set("group", Napi::Function::New(env, Group, "group"));
  return exports;
}

}  // namespace
}  // namespace npu_console

static Napi::Object InitializeAddon(Napi::Env env, Napi::Object exports) { return npu_console::Initialize(env, exports); }
NODE_API_MODULE(event_group_addon, InitializeAddon)
