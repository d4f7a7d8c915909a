#include "onnxruntime/ort_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <mutex>

namespace npu_console::onnxruntime {

namespace {

// Version 15 has the last of the functions above.
constexpr std::uint32_t API_VERSION = 15;

struct OrtApiBase {
  void* const* (*GetApi)(std::uint32_t version);
  const char* (*GetVersionString)();
};

std::unique_ptr<OrtApi> Open(const std::string& wanted) {
  const char* const named = std::getenv("ORT_DYLIB_PATH");
  const std::string path = !wanted.empty() ? wanted : named != nullptr && *named != '\0' ? named : "libonnxruntime.so.1";
  // Official builds send usage data unless this is set before the library's first environment.
  const char* const telemetry = std::getenv("ORT_DISABLE_TELEMETRY");
  if (telemetry == nullptr || std::strcmp(telemetry, "1") != 0) setenv("ORT_DISABLE_TELEMETRY", "1", 1);
  // Never unmapped: threads that ran its code end later than the backend, and what it left for their end is code of its own.
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) {
    const char* const reason = dlerror();
    throw kit::Unavailable("ONNX Runtime could not be opened (" + std::string(reason == nullptr ? path : reason) +
                           "). Install the npm package onnxruntime-node, or set ORT_DYLIB_PATH to the file libonnxruntime.so of version 1.15 or later");
  }
  auto* const base = reinterpret_cast<const OrtApiBase* (*)()>(dlsym(handle, "OrtGetApiBase"));
  if (base == nullptr) throw kit::Unavailable("'" + path + "' is no ONNX Runtime: it has no OrtGetApiBase. Set ORT_DYLIB_PATH to the file libonnxruntime.so");
  auto api = std::make_unique<OrtApi>();
  api->version = base()->GetVersionString();
  api->path = path;
  void* const* const table = base()->GetApi(API_VERSION);
  if (table == nullptr) {
    throw kit::Unavailable("'" + path + "' is ONNX Runtime " + api->version + ", which is too old: 1.15 or later is needed. Set ORT_DYLIB_PATH to a newer one");
  }
#define ORT_FILL(slot, name, result, parameters) api->name = reinterpret_cast<result(*) parameters>(table[slot]);
  ORT_FUNCTIONS(ORT_FILL)
#undef ORT_FILL
  return api;
}

constexpr struct {
  int onnx;
  TRITONSERVER_DataType triton;
} ELEMENT_TYPES[] = {
    {1, TRITONSERVER_TYPE_FP32},   {2, TRITONSERVER_TYPE_UINT8},  {3, TRITONSERVER_TYPE_INT8},  {4, TRITONSERVER_TYPE_UINT16}, {5, TRITONSERVER_TYPE_INT16},
    {6, TRITONSERVER_TYPE_INT32},  {7, TRITONSERVER_TYPE_INT64},  {8, TRITONSERVER_TYPE_BYTES}, {9, TRITONSERVER_TYPE_BOOL},   {10, TRITONSERVER_TYPE_FP16},
    {11, TRITONSERVER_TYPE_FP64},  {12, TRITONSERVER_TYPE_UINT32}, {13, TRITONSERVER_TYPE_UINT64}, {16, TRITONSERVER_TYPE_BF16},
};

}  // namespace

void OrtApi::Must(OrtStatus* status) const {
  if (status == nullptr) return;
  OrtError error(GetErrorCode(status), GetErrorMessage(status));
  ReleaseStatus(status);
  throw error;
}

const OrtApi& OpenOrt(const std::string& path) {
  static std::mutex mutex;
  static OrtApi* opened = nullptr;
  const std::lock_guard lock(mutex);
  if (opened == nullptr) opened = Open(path).release();
  return *opened;
}

TRITONSERVER_DataType TritonType(int onnx_type) {
  for (const auto& entry : ELEMENT_TYPES) {
    if (entry.onnx == onnx_type) return entry.triton;
  }
  return TRITONSERVER_TYPE_INVALID;
}

int OnnxType(TRITONSERVER_DataType type) {
  for (const auto& entry : ELEMENT_TYPES) {
    if (entry.triton == type) return entry.onnx;
  }
  return 0;
}

}  // namespace npu_console::onnxruntime
