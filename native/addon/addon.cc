// The list of what JavaScript can call. Each function's work is in the file of its subject; only this file and the conversions beside it
// speak Node-API. State belongs to the JavaScript environment: main thread and every worker load the addon on their own.
#include <napi.h>

#include <memory>

#include "dcmi.h"
#include "json_numbers.h"
#include "process_exit.h"
#include "shared_mapping.h"
#include "thread_info.h"
#include "triton_host.h"

namespace npu_console {
namespace {

// nameCurrentThread(name: string): void
void NameCurrentThreadCall(const Napi::CallbackInfo& info) {
  if (info.Length() != 1 || !info[0].IsString()) {
    throw Napi::TypeError::New(info.Env(), "nameCurrentThread takes one string");
  }
  NameCurrentThread(info[0].As<Napi::String>().Utf8Value());
}

// currentThreadCpuNanoseconds(): number. Exact up to 2^53 ns, 104 days of computing.
Napi::Value CurrentThreadCpuNanosecondsCall(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), static_cast<double>(CurrentThreadCpuNanoseconds()));
}

// exitAtOnce(code: number): void. Does not wait for the other threads, as process.exit does: one that is inside a native call may take
// for ever, and its call into JavaScript would end in an abort.
void ExitAtOnceCall(const Napi::CallbackInfo& info) {
  if (info.Length() != 1 || !info[0].IsNumber()) {
    throw Napi::TypeError::New(info.Env(), "exitAtOnce takes one number");
  }
  ExitAtOnce(info[0].As<Napi::Number>().Int32Value());
}

// jsonNumbers(elements: Uint8Array, isSingle: boolean): Buffer. The text of FP32 (isSingle) or FP64 elements.
Napi::Value JsonNumbersCall(const Napi::CallbackInfo& info) {
  if (info.Length() != 2 || !info[0].IsTypedArray() || !info[1].IsBoolean()) {
    throw Napi::TypeError::New(info.Env(), "jsonNumbers takes the bytes of a tensor and whether they are FP32");
  }
  const auto bytes = info[0].As<Napi::Uint8Array>();
  const bool is_single = info[1].As<Napi::Boolean>();
  const std::size_t count = bytes.ByteLength() / (is_single ? sizeof(float) : sizeof(double));
  const auto text = std::make_unique_for_overwrite<char[]>(count * kLongestJsonNumber);
  const std::size_t length = is_single ? WriteJsonNumbers<float>(bytes.Data(), count, text.get()) : WriteJsonNumbers<double>(bytes.Data(), count, text.get());
  return Napi::Buffer<char>::Copy(info.Env(), text.get(), length);
}

Napi::Object Initialize(Napi::Env env, Napi::Object exports) {
  exports.Set("nameCurrentThread", Napi::Function::New(env, NameCurrentThreadCall, "nameCurrentThread"));
  exports.Set("currentThreadCpuNanoseconds", Napi::Function::New(env, CurrentThreadCpuNanosecondsCall, "currentThreadCpuNanoseconds"));
  exports.Set("exitAtOnce", Napi::Function::New(env, ExitAtOnceCall, "exitAtOnce"));
  exports.Set("jsonNumbers", Napi::Function::New(env, JsonNumbersCall, "jsonNumbers"));
  ExportDcmi(env, exports);
  ExportSharedMapping(env, exports);
  ExportTritonHost(env, exports);
  return exports;
}

}  // namespace
}  // namespace npu_console

static Napi::Object InitializeAddon(Napi::Env env, Napi::Object exports) { return npu_console::Initialize(env, exports); }
NODE_API_MODULE(addon, InitializeAddon)
