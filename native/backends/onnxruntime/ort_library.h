// ONNX Runtime, opened at run time through its C ABI. Declared from the facts of that ABI (places in a table of functions that only ever grows); no header
// of ONNX Runtime is needed to build this, and any release from 1.15 on can be opened.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "common/error.h"

namespace npu_console::onnxruntime {

// Opaque, as in the ABI.
struct OrtStatus;
struct OrtEnv;
struct OrtSession;
struct OrtSessionOptions;
struct OrtRunOptions;
struct OrtValue;
struct OrtMemoryInfo;
struct OrtTypeInfo;
struct OrtTensorInfo;
struct OrtIoBinding;
struct OrtThreadingOptions;
struct OrtAllocator;

using OrtLoggingFunction = void (*)(void* context, int severity, const char* category, const char* log_id, const char* place, const char* message);

// Severities, from the least severe that is shown.
enum OrtSeverity { kOrtVerbose = 0, kOrtInfo = 1, kOrtWarning = 2, kOrtError = 3, kOrtFatal = 4 };
constexpr int kOrtInvalidArgument = 2;
constexpr int kOrtTypeTensor = 1;

// Slot, name, result, parameters.
#define ORT_FUNCTIONS(FUNCTION)                                                                                                             \
  FUNCTION(1, GetErrorCode, int, (const OrtStatus*))                                                                                        \
  FUNCTION(2, GetErrorMessage, const char*, (const OrtStatus*))                                                                             \
  FUNCTION(6, DisableTelemetryEvents, OrtStatus*, (const OrtEnv*))                                                                          \
  FUNCTION(7, CreateSession, OrtStatus*, (const OrtEnv*, const char* path, const OrtSessionOptions*, OrtSession**))                         \
  FUNCTION(10, CreateSessionOptions, OrtStatus*, (OrtSessionOptions**))                                                                     \
  FUNCTION(11, SetOptimizedModelFilePath, OrtStatus*, (OrtSessionOptions*, const char* path))                                               \
  FUNCTION(13, SetSessionExecutionMode, OrtStatus*, (OrtSessionOptions*, int mode))                                                         \
  FUNCTION(14, EnableProfiling, OrtStatus*, (OrtSessionOptions*, const char* prefix))                                                       \
  FUNCTION(16, EnableMemPattern, OrtStatus*, (OrtSessionOptions*))                                                                          \
  FUNCTION(17, DisableMemPattern, OrtStatus*, (OrtSessionOptions*))                                                                         \
  FUNCTION(18, EnableCpuMemArena, OrtStatus*, (OrtSessionOptions*))                                                                         \
  FUNCTION(19, DisableCpuMemArena, OrtStatus*, (OrtSessionOptions*))                                                                        \
  FUNCTION(20, SetSessionLogId, OrtStatus*, (OrtSessionOptions*, const char* id))                                                           \
  FUNCTION(22, SetSessionLogSeverityLevel, OrtStatus*, (OrtSessionOptions*, int severity))                                                  \
  FUNCTION(23, SetSessionGraphOptimizationLevel, OrtStatus*, (OrtSessionOptions*, int level))                                               \
  FUNCTION(24, SetIntraOpNumThreads, OrtStatus*, (OrtSessionOptions*, int count))                                                           \
  FUNCTION(25, SetInterOpNumThreads, OrtStatus*, (OrtSessionOptions*, int count))                                                           \
  FUNCTION(30, SessionGetInputCount, OrtStatus*, (const OrtSession*, std::size_t*))                                                         \
  FUNCTION(31, SessionGetOutputCount, OrtStatus*, (const OrtSession*, std::size_t*))                                                        \
  FUNCTION(33, SessionGetInputTypeInfo, OrtStatus*, (const OrtSession*, std::size_t index, OrtTypeInfo**))                                  \
  FUNCTION(34, SessionGetOutputTypeInfo, OrtStatus*, (const OrtSession*, std::size_t index, OrtTypeInfo**))                                 \
  FUNCTION(36, SessionGetInputName, OrtStatus*, (const OrtSession*, std::size_t index, OrtAllocator*, char**))                              \
  FUNCTION(37, SessionGetOutputName, OrtStatus*, (const OrtSession*, std::size_t index, OrtAllocator*, char**))                             \
  FUNCTION(39, CreateRunOptions, OrtStatus*, (OrtRunOptions**))                                                                             \
  FUNCTION(46, RunOptionsSetTerminate, OrtStatus*, (OrtRunOptions*))                                                                        \
  FUNCTION(47, RunOptionsUnsetTerminate, OrtStatus*, (OrtRunOptions*))                                                                      \
  FUNCTION(48, CreateTensorAsOrtValue, OrtStatus*, (OrtAllocator*, const std::int64_t* shape, std::size_t rank, int type, OrtValue**))      \
  FUNCTION(49, CreateTensorWithDataAsOrtValue, OrtStatus*,                                                                                  \
           (const OrtMemoryInfo*, void* data, std::size_t bytes, const std::int64_t* shape, std::size_t rank, int type, OrtValue**))        \
  FUNCTION(51, GetTensorMutableData, OrtStatus*, (OrtValue*, void**))                                                                       \
  FUNCTION(53, GetStringTensorDataLength, OrtStatus*, (const OrtValue*, std::size_t*))                                                      \
  FUNCTION(54, GetStringTensorContent, OrtStatus*, (const OrtValue*, void* buffer, std::size_t bytes, std::size_t* offsets, std::size_t n)) \
  FUNCTION(55, CastTypeInfoToTensorInfo, OrtStatus*, (const OrtTypeInfo*, const OrtTensorInfo**))                                           \
  FUNCTION(60, GetTensorElementType, OrtStatus*, (const OrtTensorInfo*, int*))                                                              \
  FUNCTION(61, GetDimensionsCount, OrtStatus*, (const OrtTensorInfo*, std::size_t*))                                                        \
  FUNCTION(62, GetDimensions, OrtStatus*, (const OrtTensorInfo*, std::int64_t*, std::size_t))                                               \
  FUNCTION(63, GetSymbolicDimensions, OrtStatus*, (const OrtTensorInfo*, const char**, std::size_t))                                        \
  FUNCTION(65, GetTensorTypeAndShape, OrtStatus*, (const OrtValue*, OrtTensorInfo**))                                                       \
  FUNCTION(67, GetValueType, OrtStatus*, (const OrtValue*, int*))                                                                           \
  FUNCTION(69, CreateCpuMemoryInfo, OrtStatus*, (int allocator_type, int memory_type, OrtMemoryInfo**))                                     \
  FUNCTION(76, AllocatorFree, OrtStatus*, (OrtAllocator*, void*))                                                                           \
  FUNCTION(78, GetAllocatorWithDefaultOptions, OrtStatus*, (OrtAllocator**))                                                                \
  FUNCTION(93, ReleaseStatus, void, (OrtStatus*))                                                                                           \
  FUNCTION(95, ReleaseSession, void, (OrtSession*))                                                                                         \
  FUNCTION(96, ReleaseValue, void, (OrtValue*))                                                                                             \
  FUNCTION(97, ReleaseRunOptions, void, (OrtRunOptions*))                                                                                   \
  FUNCTION(98, ReleaseTypeInfo, void, (OrtTypeInfo*))                                                                                       \
  FUNCTION(99, ReleaseTensorTypeAndShapeInfo, void, (OrtTensorInfo*))                                                                       \
  FUNCTION(100, ReleaseSessionOptions, void, (OrtSessionOptions*))                                                                          \
  FUNCTION(120, DisablePerSessionThreads, OrtStatus*, (OrtSessionOptions*))                                                                 \
  FUNCTION(121, CreateThreadingOptions, OrtStatus*, (OrtThreadingOptions**))                                                                \
  FUNCTION(122, ReleaseThreadingOptions, void, (OrtThreadingOptions*))                                                                      \
  FUNCTION(130, AddSessionConfigEntry, OrtStatus*, (OrtSessionOptions*, const char* key, const char* value))                                \
  FUNCTION(133, RunWithBinding, OrtStatus*, (OrtSession*, const OrtRunOptions*, const OrtIoBinding*))                                       \
  FUNCTION(134, CreateIoBinding, OrtStatus*, (OrtSession*, OrtIoBinding**))                                                                 \
  FUNCTION(135, ReleaseIoBinding, void, (OrtIoBinding*))                                                                                    \
  FUNCTION(136, BindInput, OrtStatus*, (OrtIoBinding*, const char* name, const OrtValue*))                                                  \
  FUNCTION(137, BindOutput, OrtStatus*, (OrtIoBinding*, const char* name, const OrtValue*))                                                 \
  FUNCTION(138, BindOutputToDevice, OrtStatus*, (OrtIoBinding*, const char* name, const OrtMemoryInfo*))                                    \
  FUNCTION(140, GetBoundOutputValues, OrtStatus*, (const OrtIoBinding*, OrtAllocator*, OrtValue***, std::size_t*))                          \
  FUNCTION(141, ClearBoundInputs, void, (OrtIoBinding*))                                                                                    \
  FUNCTION(142, ClearBoundOutputs, void, (OrtIoBinding*))                                                                                   \
  FUNCTION(147, SetGlobalIntraOpNumThreads, OrtStatus*, (OrtThreadingOptions*, int count))                                                  \
  FUNCTION(148, SetGlobalInterOpNumThreads, OrtStatus*, (OrtThreadingOptions*, int count))                                                  \
  FUNCTION(151, CreateEnvWithCustomLoggerAndGlobalThreadPools, OrtStatus*,                                                                  \
           (OrtLoggingFunction, void* context, int severity, const char* id, const OrtThreadingOptions*, OrtEnv**))                         \
  FUNCTION(4, CreateEnvWithCustomLogger, OrtStatus*, (OrtLoggingFunction, void* context, int severity, const char* id, OrtEnv**))           \
  FUNCTION(165, AddRunConfigEntry, OrtStatus*, (OrtRunOptions*, const char* key, const char* value))                                        \
  FUNCTION(252, GetResizedStringTensorElementBuffer, OrtStatus*, (OrtValue*, std::size_t index, std::size_t bytes, char** buffer))

// What ONNX Runtime refused: its own text behind "onnx runtime error: ", and its code.
class OrtError : public kit::Error {
 public:
  OrtError(int ort_code, const std::string& text) : kit::Error(TRITONSERVER_ERROR_INTERNAL, "onnx runtime error: " + text), ort_code_(ort_code) {}
  int ort_code() const { return ort_code_; }

 private:
  int ort_code_;
};

// The table, one of the process. It stays loaded: threads of the library may outlive any unload.
struct OrtApi {
#define ORT_MEMBER(slot, name, result, parameters) result(*name) parameters = nullptr;
  ORT_FUNCTIONS(ORT_MEMBER)
#undef ORT_MEMBER

  std::string version;  // "1.30.0"
  std::string path;

  // Frees a status. @throws OrtError unless it is a success
  void Must(OrtStatus* status) const;
};

// Opens the library once; later calls answer the same, whatever they ask for. Usage data that official builds send is turned off first.
// @param path a file; empty: ORT_DYLIB_PATH, else what the loader finds as libonnxruntime.so.1
// @throws kit::Error UNAVAILABLE that says what to do, where there is none or it is too old
const OrtApi& OpenOrt(const std::string& path);

// A handle with the function that frees it.
template <class Handle>
class Owned {
 public:
  explicit Owned(void (*release)(Handle*)) : release_(release) {}
  Owned(Owned&& other) noexcept : release_(other.release_), handle_(other.handle_) { other.handle_ = nullptr; }
  Owned& operator=(Owned&& other) noexcept {
    std::swap(release_, other.release_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    if (handle_ != nullptr) release_(handle_);
  }
  Handle* get() const { return handle_; }
  Handle** out() { return &handle_; }

 private:
  void (*release_)(Handle*);
  Handle* handle_ = nullptr;
};

// ONNX's element types and Triton's; INVALID, or 0, for what the other does not have.
TRITONSERVER_DataType TritonType(int onnx_type);
int OnnxType(TRITONSERVER_DataType type);

}  // namespace npu_console::onnxruntime
