// The list of what JavaScript can call. Each function's work is in the file of its subject; only this file and the conversions beside it
// speak Node-API. State belongs to the JavaScript environment: main thread and every worker load the addon on their own.
#include <napi.h>

#include "thread_info.h"

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

Napi::Object Initialize(Napi::Env env, Napi::Object exports) {
  exports.Set("nameCurrentThread", Napi::Function::New(env, NameCurrentThreadCall, "nameCurrentThread"));
  exports.Set("currentThreadCpuNanoseconds", Napi::Function::New(env, CurrentThreadCpuNanosecondsCall, "currentThreadCpuNanoseconds"));
  return exports;
}

}  // namespace
}  // namespace npu_console

static Napi::Object InitializeAddon(Napi::Env env, Napi::Object exports) { return npu_console::Initialize(env, exports); }
NODE_API_MODULE(addon, InitializeAddon)
