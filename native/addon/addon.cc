// The list of what JavaScript can call. Each function's work is in the file of its subject; only this file and the conversions beside it
// speak Node-API. State belongs to the JavaScript environment: main thread and every worker load the addon on their own.
#include <napi.h>

#include "dcmi.h"
#include "process_exit.h"
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

Napi::Object Initialize(Napi::Env env, Napi::Object exports) {
  exports.Set("nameCurrentThread", Napi::Function::New(env, NameCurrentThreadCall, "nameCurrentThread"));
  exports.Set("currentThreadCpuNanoseconds", Napi::Function::New(env, CurrentThreadCpuNanosecondsCall, "currentThreadCpuNanoseconds"));
  exports.Set("exitAtOnce", Napi::Function::New(env, ExitAtOnceCall, "exitAtOnce"));
  ExportDcmi(env, exports);
  ExportTritonHost(env, exports);
  return exports;
}

}  // namespace
}  // namespace npu_console

static Napi::Object InitializeAddon(Napi::Env env, Napi::Object exports) { return npu_console::Initialize(env, exports); }
NODE_API_MODULE(addon, InitializeAddon)
