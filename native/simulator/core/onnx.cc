#include "core/onnx.h"

#include <dlfcn.h>

#include <cstdlib>
#include <mutex>
#include <utility>

#include "core/settings.h"

namespace simulator {

namespace {

/** Places in ONNX Runtime's function table. */
enum Slot {
  kGetErrorMessage = 2,
  kCreateEnv = 3,
  kDisableTelemetryEvents = 6,
  kCreateSessionFromArray = 8,
  kRun = 9,
  kCreateSessionOptions = 10,
  kSetSessionLogSeverityLevel = 22,
  kSetIntraOpNumThreads = 24,
  kSessionGetInputCount = 30,
  kSessionGetOutputCount = 31,
  kSessionGetInputTypeInfo = 33,
  kSessionGetOutputTypeInfo = 34,
  kSessionGetInputName = 36,
  kSessionGetOutputName = 37,
  kCreateTensorWithData = 49,
  kGetTensorMutableData = 51,
  kCastTypeInfoToTensorInfo = 55,
  kGetTensorElementType = 60,
  kGetDimensionsCount = 61,
  kGetDimensions = 62,
  kGetTensorTypeAndShape = 65,
  kCreateCpuMemoryInfo = 69,
  kAllocatorFree = 76,
  kGetAllocatorWithDefaultOptions = 78,
  kReleaseStatus = 93,
  kReleaseSession = 95,
  kReleaseValue = 96,
  kReleaseTypeInfo = 98,
  kReleaseTensorTypeAndShapeInfo = 99,
  kReleaseSessionOptions = 100,
};

/** Pairs of ONNX's element type and AscendCL's. */
constexpr struct {
  int onnx;
  aclDataType acl;
} ELEMENT_TYPES[] = {
    {1, ACL_FLOAT}, {2, ACL_UINT8},    {3, ACL_INT8},    {4, ACL_UINT16},  {5, ACL_INT16},   {6, ACL_INT32}, {7, ACL_INT64},
    {9, ACL_BOOL},  {10, ACL_FLOAT16}, {11, ACL_DOUBLE}, {12, ACL_UINT32}, {13, ACL_UINT64}, {16, ACL_BF16},
};

aclDataType AclTypeOf(int onnx) {
  for (const auto &entry : ELEMENT_TYPES) {
    if (entry.onnx == onnx) return entry.acl;
  }
  return ACL_DT_UNDEFINED;
}

int OnnxTypeOf(aclDataType acl) {
  for (const auto &entry : ELEMENT_TYPES) {
    if (entry.acl == acl) return entry.onnx;
  }
  return 0;
}

/** The library, opened once per process and never closed. */
struct Library {
  void *const *table = nullptr;
  void *environment = nullptr;
  void *allocator = nullptr;
  void *memoryInfo = nullptr;
  std::string problem;

  template <typename Result = void *, typename... Arguments>
  Result Call(Slot slot, Arguments... arguments) const {
    return reinterpret_cast<Result (*)(Arguments...)>(table[slot])(arguments...);
  }

  /** Turns a status into its text and frees it. @returns true when all is well */
  bool Ok(void *status, std::string &error) const {
    if (status == nullptr) return true;
    error = Call<const char *>(kGetErrorMessage, status);
    Call<void>(kReleaseStatus, status);
    return false;
  }

  void Open() {
    // Before the first environment, or the library sends usage data.
    setenv("ORT_DISABLE_TELEMETRY", "1", 0);
    const std::string path = Settings::Instance().onnxRuntimePath();
    void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      problem = std::string("the simulated cards compute through ONNX Runtime, which cannot be opened: ") + dlerror();
      return;
    }
    struct Base {
      void *const *(*getApi)(uint32_t version);
      const char *(*version)();
    };
    auto *getBase = reinterpret_cast<const Base *(*)()>(dlsym(handle, "OrtGetApiBase"));
    void *const *api = getBase == nullptr ? nullptr : getBase()->getApi(13);
    if (api == nullptr) {
      problem = path + " is no ONNX Runtime of 1.13 or later";
      return;
    }
    table = api;
    if (!Ok(Call(kCreateEnv, 4, "simulated-npu", &environment), problem) ||
        !Ok(Call(kDisableTelemetryEvents, static_cast<const void *>(environment)), problem) ||
        !Ok(Call(kGetAllocatorWithDefaultOptions, &allocator), problem) || !Ok(Call(kCreateCpuMemoryInfo, 0, 0, &memoryInfo), problem)) {
      table = nullptr;
    }
  }
};

const Library &OnnxLibrary() {
  static const Library *library = [] {
    auto *opened = new Library();
    opened->Open();
    return opened;
  }();
  return *library;
}

/** Frees a handle by the given slot at the end of a scope. */
class Owned {
 public:
  explicit Owned(Slot release) : release_(release) {}
  Owned(Owned &&other) noexcept : release_(other.release_), handle_(std::exchange(other.handle_, nullptr)) {}
  Owned(const Owned &) = delete;
  Owned &operator=(const Owned &) = delete;
  ~Owned() {
    if (handle_ != nullptr) OnnxLibrary().Call<void>(release_, handle_);
  }
  void **out() { return &handle_; }
  void *get() const { return handle_; }

 private:
  Slot release_;
  void *handle_ = nullptr;
};

/** Element type and dimensions of a borrowed shape. */
bool ReadShape(const void *info, int &type, std::vector<int64_t> &dims, std::string &error) {
  const Library &library = OnnxLibrary();
  size_t rank = 0;
  if (!library.Ok(library.Call(kGetTensorElementType, info, &type), error) || !library.Ok(library.Call(kGetDimensionsCount, info, &rank), error)) {
    return false;
  }
  dims.assign(rank, 0);
  return library.Ok(library.Call(kGetDimensions, info, dims.data(), rank), error);
}

}  // namespace

size_t ElementSize(aclDataType type) {
  switch (type) {
    case ACL_INT8: case ACL_UINT8: case ACL_BOOL: return 1;
    case ACL_FLOAT16: case ACL_BF16: case ACL_INT16: case ACL_UINT16: return 2;
    case ACL_FLOAT: case ACL_INT32: case ACL_UINT32: return 4;
    case ACL_INT64: case ACL_UINT64: case ACL_DOUBLE: case ACL_COMPLEX64: return 8;
    case ACL_COMPLEX128: return 16;
    default: return 0;
  }
}

int64_t ElementCount(const std::vector<int64_t> &dims) {
  int64_t count = 1;
  for (const int64_t dim : dims) {
    if (dim < 0 || (dim > 0 && count > (INT64_MAX >> 5) / dim)) return -1;
    count *= dim;
  }
  return count;
}

size_t TensorBytes(aclDataType type, const std::vector<int64_t> &dims) {
  const int64_t count = ElementCount(dims);
  return count < 0 ? 0 : static_cast<size_t>(count) * ElementSize(type);
}

std::shared_ptr<OnnxSession> OnnxSession::Create(const void *model, size_t bytes, std::string &error) {
  const Library &library = OnnxLibrary();
  if (library.table == nullptr) {
    error = library.problem;
    return nullptr;
  }
  Owned options(kReleaseSessionOptions);
  std::shared_ptr<OnnxSession> session(new OnnxSession());
  if (!library.Ok(library.Call(kCreateSessionOptions, options.out()), error) ||
      !library.Ok(library.Call(kSetIntraOpNumThreads, options.get(), 1), error) ||
      !library.Ok(library.Call(kSetSessionLogSeverityLevel, options.get(), 4), error) ||
      !library.Ok(library.Call(kCreateSessionFromArray, static_cast<const void *>(library.environment), model, bytes,
                               static_cast<const void *>(options.get()), &session->session_),
                  error) ||
      !session->Describe(true, session->inputs_, error) || !session->Describe(false, session->outputs_, error)) {
    return nullptr;
  }
  return session;
}

OnnxSession::~OnnxSession() {
  if (session_ != nullptr) OnnxLibrary().Call<void>(kReleaseSession, session_);
}

bool OnnxSession::Describe(bool input, std::vector<TensorInfo> &tensors, std::string &error) {
  const Library &library = OnnxLibrary();
  const void *session = session_;
  size_t count = 0;
  if (!library.Ok(library.Call(input ? kSessionGetInputCount : kSessionGetOutputCount, session, &count), error)) return false;
  for (size_t index = 0; index < count; index++) {
    char *name = nullptr;
    Owned type(kReleaseTypeInfo);
    const void *shape = nullptr;
    int element = 0;
    TensorInfo tensor;
    if (!library.Ok(library.Call(input ? kSessionGetInputName : kSessionGetOutputName, session, index, library.allocator, &name), error)) {
      return false;
    }
    tensor.name = name;
    if (!library.Ok(library.Call(kAllocatorFree, library.allocator, static_cast<void *>(name)), error) ||
        !library.Ok(library.Call(input ? kSessionGetInputTypeInfo : kSessionGetOutputTypeInfo, session, index, type.out()), error) ||
        !library.Ok(library.Call(kCastTypeInfoToTensorInfo, static_cast<const void *>(type.get()), &shape), error)) {
      return false;
    }
    if (shape == nullptr) {
      error = "'" + tensor.name + "' is no tensor: simulated cards take tensors only";
      return false;
    }
    if (!ReadShape(shape, element, tensor.dims, error)) return false;
    tensor.type = AclTypeOf(element);
    if (tensor.type == ACL_DT_UNDEFINED) {
      error = "'" + tensor.name + "' has ONNX element type " + std::to_string(element) + ", which simulated cards do not take";
      return false;
    }
    tensors.push_back(std::move(tensor));
  }
  return true;
}

bool OnnxSession::Run(const std::vector<TensorView> &inputs,
                      const std::function<bool(size_t index, const TensorView &output, std::string &error)> &take,
                      std::string &error) const {
  const Library &library = OnnxLibrary();
  std::vector<Owned> values;
  std::vector<const void *> inputValues;
  std::vector<const char *> inputNames;
  std::vector<const char *> outputNames;
  for (size_t index = 0; index < inputs.size(); index++) {
    const TensorView &input = inputs[index];
    values.emplace_back(kReleaseValue);
    if (!library.Ok(library.Call(kCreateTensorWithData, static_cast<const void *>(library.memoryInfo), input.data, input.bytes,
                                 input.dims.data(), input.dims.size(), OnnxTypeOf(inputs_[index].type), values.back().out()),
                    error)) {
      return false;
    }
    inputValues.push_back(values.back().get());
    inputNames.push_back(inputs_[index].name.c_str());
  }
  for (const TensorInfo &output : outputs_) outputNames.push_back(output.name.c_str());
  std::vector<void *> results(outputs_.size(), nullptr);
  const bool ran = library.Ok(library.Call(kRun, session_, static_cast<const void *>(nullptr), inputNames.data(), inputValues.data(),
                                           inputValues.size(), outputNames.data(), outputNames.size(), results.data()),
                              error);
  std::vector<Owned> owned;
  for (void *result : results) {
    owned.emplace_back(kReleaseValue);
    *owned.back().out() = result;
  }
  if (!ran) return false;
  for (size_t index = 0; index < results.size(); index++) {
    Owned shape(kReleaseTensorTypeAndShapeInfo);
    TensorView output{};
    int type = 0;
    if (!library.Ok(library.Call(kGetTensorTypeAndShape, static_cast<const void *>(results[index]), shape.out()), error) ||
        !ReadShape(shape.get(), type, output.dims, error) ||
        !library.Ok(library.Call(kGetTensorMutableData, results[index], &output.data), error)) {
      return false;
    }
    output.bytes = TensorBytes(outputs_[index].type, output.dims);
    if (!take(index, output, error)) return false;
  }
  return true;
}

}  // namespace simulator
