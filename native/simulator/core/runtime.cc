#include "core/runtime.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "core/errors.h"
#include "core/json.h"
#include "core/shared_state.h"

namespace simulator {

namespace {

constexpr size_t ALIGNMENT = 64;
/** AscendCL's configuration file may not be nested deeper. */
constexpr int CONFIG_DEPTH = 10;

struct ThreadState {
  int device = -1;
  Handle context = 0;
  Handle limitStream = 0;
};

ThreadState &Thread() {
  thread_local ThreadState state;
  return state;
}

std::string Id(int device) { return "device " + std::to_string(device); }

/** Logical ids in ASCEND_RT_VISIBLE_DEVICES: ascending, and a bad entry cuts off the rest. */
std::vector<int> VisibleDevices(int count) {
  std::vector<int> visible;
  const char *text = std::getenv("ASCEND_RT_VISIBLE_DEVICES");
  if (text == nullptr) {
    for (int id = 0; id < count; id++) visible.push_back(id);
    return visible;
  }
  for (const char *at = text; *at != 0;) {
    char *end = nullptr;
    const long id = std::strtol(at, &end, 10);
    const bool isNumber = end != at && (*end == ',' || *end == 0) && *at >= '0' && *at <= '9';
    if (!isNumber || id >= count || (!visible.empty() && id <= visible.back())) break;
    visible.push_back(static_cast<int>(id));
    at = *end == ',' ? end + 1 : end;
  }
  return visible;
}

}  // namespace

void CorePool::Take(int cores) {
  std::unique_lock lock(mutex_);
  const uint64_t ticket = nextTicket_++;
  changed_.wait(lock, [&] { return ticket == served_ && free_ >= cores; });
  served_++;
  free_ -= cores;
  changed_.notify_all();
}

void CorePool::Give(int cores) {
  const std::lock_guard lock(mutex_);
  free_ += cores;
  changed_.notify_all();
}

Device::Device(const Profile &kind, int number, int machineNumber)
    : profile(kind), id(number), logicId(machineNumber), cores(kind.cubeCores) {}

Runtime &Runtime::Instance() {
  static Runtime *instance = new Runtime();
  return *instance;
}

Runtime::Runtime() {
  const auto &places = Settings::Instance().devices();
  for (const int logicId : VisibleDevices(static_cast<int>(places.size()))) {
    devices_.push_back(std::make_unique<Device>(*places[static_cast<size_t>(logicId)].profile, static_cast<int>(devices_.size()), logicId));
  }
}

aclError Runtime::RequireCards() {
  Settings &settings = Settings::Instance();
  if (!settings.problem().empty()) return Fail(ACL_ERROR_INTERNAL_ERROR, settings.problem());
  if (settings.stubMode()) {
    return Fail(ACL_ERROR_COMPILING_STUB_MODE, "this process runs with the stub libraries of devlib: put lib64 before it in LD_LIBRARY_PATH");
  }
  if (!SharedState::Instance().problem().empty()) return Fail(ACL_ERROR_INTERNAL_ERROR, SharedState::Instance().problem());
  return ACL_SUCCESS;
}

aclError Runtime::RequireInitialized() {
  if (const aclError code = RequireCards(); code != ACL_SUCCESS) return code;
  const std::lock_guard lock(mutex_);
  return initCount_ > 0 ? ACL_SUCCESS : Fail(ACL_ERROR_UNINITIALIZE, "aclInit has to be called first");
}

aclError Runtime::Initialize(const char *configPath) {
  if (const aclError code = RequireCards(); code != ACL_SUCCESS) return code;
  if (configPath != nullptr && configPath[0] != 0) {
    std::string text;
    std::string error;
    Json document;
    if (!ReadWholeFile(configPath, text)) return Fail(ACL_ERROR_INVALID_FILE, std::string("the configuration file cannot be read: ") + configPath);
    if (!Json::Parse(text, document, error, CONFIG_DEPTH) || !document.IsObject()) {
      return Fail(ACL_ERROR_PARSE_FILE, std::string("the configuration file is no JSON object: ") + configPath + " " + error);
    }
  }
  const std::lock_guard lock(mutex_);
  if (initCount_++ > 0) return Fail(ACL_ERROR_REPEAT_INITIALIZE, "aclInit was called before: go on");
  return ACL_SUCCESS;
}

aclError Runtime::Finalize() {
  if (const aclError code = RequireCards(); code != ACL_SUCCESS) return code;
  const std::lock_guard lock(mutex_);
  if (initCount_ == 0) {
    return wasFinalized_ ? Fail(ACL_ERROR_REPEAT_FINALIZE, "aclFinalize was called before") : Fail(ACL_ERROR_UNINITIALIZE, "aclInit was never called");
  }
  initCount_ = 0;
  wasFinalized_ = true;
  return ACL_SUCCESS;
}

aclError Runtime::FinalizeReference(uint64_t *count) {
  if (const aclError code = RequireCards(); code != ACL_SUCCESS) return code;
  const std::lock_guard lock(mutex_);
  if (initCount_ == 0) return Fail(wasFinalized_ ? ACL_ERROR_REPEAT_FINALIZE : ACL_ERROR_UNINITIALIZE, "nothing is left to finalise");
  initCount_--;
  if (initCount_ == 0) wasFinalized_ = true;
  if (count != nullptr) *count = initCount_;
  return ACL_SUCCESS;
}

Device *Runtime::FindDevice(int id) {
  return id >= 0 && static_cast<size_t>(id) < devices_.size() ? devices_[static_cast<size_t>(id)].get() : nullptr;
}

aclError Runtime::RequireLink(const Device &device) {
  return Settings::Instance().HasFault(FaultKind::CardLost, device.logicId)
             ? Fail(ACL_ERROR_RT_SOCKET_CLOSE, "the link to " + Id(device.id) + " is gone")
             : ACL_SUCCESS;
}

// --- devices and contexts

aclError Runtime::SetDevice(int id) {
  Device *device = FindDevice(id);
  if (device == nullptr) {
    return Fail(ACL_ERROR_RT_INVALID_DEVICEID, Id(id) + " does not exist: there are " + std::to_string(devices_.size()));
  }
  if (Settings::Instance().HasFault(FaultKind::CardLost, device->logicId) || Settings::Instance().HasFault(FaultKind::Permission, device->logicId)) {
    return Fail(ACL_ERROR_RT_DEV_SETUP_ERROR, Id(id) + " could not be started: in use elsewhere, lost, or this user may not open it");
  }
  const std::lock_guard lock(mutex_);
  device->setCount++;
  if (device->defaultContext == 0) {
    device->defaultContext = NextHandle();
    contexts_.emplace(device->defaultContext, Context{device, true, NewStream(device->defaultContext, *device)});
  }
  Thread().device = id;
  Thread().context = device->defaultContext;
  return ACL_SUCCESS;
}

std::shared_ptr<Stream> Runtime::NewStream(Handle context, Device &device) {
  return std::make_shared<Stream>(NextHandle(), context, device.id);
}

void Runtime::ReleaseDevice(Device &device, std::vector<std::shared_ptr<Stream>> &streams) {
  device.generation++;
  device.setCount = 0;
  device.defaultContext = 0;
  device.cubeLimit = 0;
  device.vectorLimit = 0;
  device.streamCount = 0;
  for (auto it = streams_.begin(); it != streams_.end();) {
    if (it->second->device() == device.id) {
      streams.push_back(it->second);
      it = streams_.erase(it);
    } else {
      ++it;
    }
  }
  for (auto it = contexts_.begin(); it != contexts_.end();) {
    if (it->second.device == &device) {
      streams.push_back(it->second.defaultStream);
      it = contexts_.erase(it);
    } else {
      ++it;
    }
  }
}

aclError Runtime::ResetDevice(int id, bool force) {
  Device *device = FindDevice(id);
  if (device == nullptr) return Fail(ACL_ERROR_RT_INVALID_DEVICEID, Id(id) + " does not exist");
  std::vector<std::shared_ptr<Stream>> streams;
  std::vector<void *> memory;
  {
    const std::lock_guard lock(mutex_);
    if (device->setCount == 0) return Fail(ACL_ERROR_RT_CONTEXT_NULL, Id(id) + " was not set");
    if (!force && --device->setCount > 0) return ACL_SUCCESS;
    ReleaseDevice(*device, streams);
    for (const auto &[address, allocation] : allocations_) {
      if (allocation.isDevice && allocation.device == device) memory.push_back(reinterpret_cast<void *>(address));
    }
  }
  for (const auto &stream : streams) stream->Stop(true);
  // What is left on the device goes with it.
  for (void *address : memory) Free(address);
  return ACL_SUCCESS;
}

aclError Runtime::CurrentContext(Handle &context) {
  const std::lock_guard lock(mutex_);
  context = Thread().context;
  if (contexts_.count(context) == 0) return Fail(ACL_ERROR_RT_CONTEXT_NULL, "this thread has no context: call aclrtSetDevice or aclrtSetCurrentContext");
  return ACL_SUCCESS;
}

aclError Runtime::CurrentDevice(Device *&device) {
  Handle context = 0;
  if (const aclError code = CurrentContext(context); code != ACL_SUCCESS) return code;
  const std::lock_guard lock(mutex_);
  const auto found = contexts_.find(context);
  if (found == contexts_.end()) return Fail(ACL_ERROR_RT_CONTEXT_NULL, "the context of this thread is gone");
  device = found->second.device;
  return ACL_SUCCESS;
}

aclError Runtime::CreateContext(int id, Handle &context) {
  Device *device = FindDevice(id);
  if (device == nullptr) return Fail(ACL_ERROR_RT_INVALID_DEVICEID, Id(id) + " does not exist");
  const std::lock_guard lock(mutex_);
  context = NextHandle();
  contexts_.emplace(context, Context{device, false, NewStream(context, *device)});
  Thread().context = context;
  Thread().device = id;
  return ACL_SUCCESS;
}

aclError Runtime::EnterPrivateContext(int id, Handle &context) { return CreateContext(id, context); }

aclError Runtime::DestroyContext(Handle context) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = contexts_.find(context);
    if (found == contexts_.end()) return Fail(ACL_ERROR_RT_CONTEXT_NULL, "there is no such context");
    if (found->second.isDefault) return Fail(ACL_ERROR_RT_PARAM_INVALID, "a device's default context must not be destroyed: call aclrtResetDevice");
  }
  DropContext(context);
  return ACL_SUCCESS;
}

void Runtime::DropContext(Handle context) {
  std::vector<std::shared_ptr<Stream>> streams;
  {
    const std::lock_guard lock(mutex_);
    const auto found = contexts_.find(context);
    if (found == contexts_.end()) return;
    streams.push_back(found->second.defaultStream);
    for (auto it = streams_.begin(); it != streams_.end();) {
      if (it->second->context() == context) {
        streams.push_back(it->second);
        found->second.device->streamCount--;
        it = streams_.erase(it);
      } else {
        ++it;
      }
    }
    contexts_.erase(found);
  }
  for (const auto &stream : streams) stream->Stop(true);
}

aclError Runtime::SetCurrentContext(Handle context) {
  const std::lock_guard lock(mutex_);
  const auto found = contexts_.find(context);
  if (found == contexts_.end()) return Fail(ACL_ERROR_RT_CONTEXT_NULL, "there is no such context");
  Thread().context = context;
  Thread().device = found->second.device->id;
  return ACL_SUCCESS;
}

Handle Runtime::DefaultContext(int id) {
  const std::lock_guard lock(mutex_);
  const Device *device = FindDevice(id);
  return device == nullptr ? 0 : device->defaultContext;
}

// --- streams and events

aclError Runtime::CreateStream(Handle &stream) {
  Handle context = 0;
  if (const aclError code = CurrentContext(context); code != ACL_SUCCESS) return code;
  const std::lock_guard lock(mutex_);
  const auto found = contexts_.find(context);
  if (found == contexts_.end()) return Fail(ACL_ERROR_RT_CONTEXT_NULL, "the context of this thread is gone");
  Device &device = *found->second.device;
  if (device.streamCount >= device.profile.maxStreams) {
    return Fail(ACL_ERROR_RT_NO_STREAM_RESOURCE, Id(device.id) + " has no more than " + std::to_string(device.profile.maxStreams) + " streams");
  }
  device.streamCount++;
  std::shared_ptr<Stream> made = NewStream(context, device);
  stream = made->handle();
  streams_.emplace(stream, std::move(made));
  return ACL_SUCCESS;
}

aclError Runtime::FindStream(Handle handle, std::shared_ptr<Stream> &stream) {
  Handle context = 0;
  if (const aclError code = CurrentContext(context); code != ACL_SUCCESS) return code;
  const std::lock_guard lock(mutex_);
  if (handle == 0) {
    const auto found = contexts_.find(context);
    if (found == contexts_.end()) return Fail(ACL_ERROR_RT_CONTEXT_NULL, "the context of this thread is gone");
    stream = found->second.defaultStream;
    return ACL_SUCCESS;
  }
  const auto found = streams_.find(handle);
  if (found == streams_.end()) return Fail(ACL_ERROR_RT_INVALID_HANDLE, "there is no such stream");
  if (found->second->context() != context) return Fail(ACL_ERROR_RT_STREAM_CONTEXT, "the stream is not in the current context of this thread");
  stream = found->second;
  return ACL_SUCCESS;
}

aclError Runtime::DestroyStream(Handle handle, bool force) {
  if (handle == 0) return Fail(ACL_ERROR_RT_PARAM_INVALID, "the stream is null");
  std::shared_ptr<Stream> stream;
  if (const aclError code = FindStream(handle, stream); code != ACL_SUCCESS) return code;
  {
    const std::lock_guard lock(mutex_);
    if (streams_.erase(handle) == 0) return Fail(ACL_ERROR_RT_INVALID_HANDLE, "there is no such stream");
    if (Device *device = FindDevice(stream->device()); device != nullptr && device->streamCount > 0) device->streamCount--;
  }
  stream->Stop(force);
  return ACL_SUCCESS;
}

aclError Runtime::SynchronizeStream(Handle handle, int64_t milliseconds) {
  std::shared_ptr<Stream> stream;
  if (const aclError code = FindStream(handle, stream); code != ACL_SUCCESS) return code;
  if (const Device *device = FindDevice(stream->device()); device != nullptr) {
    if (const aclError code = RequireLink(*device); code != ACL_SUCCESS) return code;
  }
  TaskResult result;
  if (!stream->Synchronize(milliseconds, result)) {
    return Fail(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, "the stream was not done within " + std::to_string(milliseconds) + " ms");
  }
  return result.code == ACL_SUCCESS ? ACL_SUCCESS : Fail(result.code, result.text);
}

aclError Runtime::SynchronizeDevice() {
  Device *device = nullptr;
  if (const aclError code = CurrentDevice(device); code != ACL_SUCCESS) return code;
  if (const aclError code = RequireLink(*device); code != ACL_SUCCESS) return code;
  std::vector<std::shared_ptr<Stream>> streams;
  {
    const std::lock_guard lock(mutex_);
    for (const auto &[handle, stream] : streams_) {
      if (stream->device() == device->id) streams.push_back(stream);
    }
    for (const auto &[handle, context] : contexts_) {
      if (context.device == device) streams.push_back(context.defaultStream);
    }
  }
  TaskResult first;
  for (const auto &stream : streams) {
    TaskResult result;
    stream->Synchronize(-1, result);
    if (first.code == ACL_SUCCESS) first = result;
  }
  return first.code == ACL_SUCCESS ? ACL_SUCCESS : Fail(first.code, first.text);
}

aclError Runtime::StreamsLeft(uint32_t &count) {
  Device *device = nullptr;
  if (const aclError code = CurrentDevice(device); code != ACL_SUCCESS) return code;
  const std::lock_guard lock(mutex_);
  count = device->profile.maxStreams - device->streamCount;
  return ACL_SUCCESS;
}

aclError Runtime::CreateEvent(Handle &event) {
  Handle context = 0;
  if (const aclError code = CurrentContext(context); code != ACL_SUCCESS) return code;
  const std::lock_guard lock(mutex_);
  event = NextHandle();
  events_.emplace(event, std::make_shared<Event>());
  return ACL_SUCCESS;
}

aclError Runtime::DestroyEvent(Handle event) {
  const std::lock_guard lock(mutex_);
  return events_.erase(event) > 0 ? ACL_SUCCESS : Fail(ACL_ERROR_RT_INVALID_HANDLE, "there is no such event");
}

aclError Runtime::FindEvent(Handle handle, std::shared_ptr<Event> &event) {
  const std::lock_guard lock(mutex_);
  const auto found = events_.find(handle);
  if (found == events_.end()) return Fail(ACL_ERROR_RT_INVALID_HANDLE, "there is no such event");
  event = found->second;
  return ACL_SUCCESS;
}

// --- memory

Runtime::TaskScope::TaskScope() {
  Runtime &runtime = Runtime::Instance();
  const std::lock_guard lock(runtime.mutex_);
  number_ = runtime.nextTask_++;
  runtime.runningTasks_.insert(number_);
}

Runtime::TaskScope::~TaskScope() {
  Runtime &runtime = Runtime::Instance();
  std::vector<void *> freed;
  {
    const std::lock_guard lock(runtime.mutex_);
    runtime.runningTasks_.erase(number_);
    const uint64_t oldest = runtime.runningTasks_.empty() ? UINT64_MAX : *runtime.runningTasks_.begin();
    for (auto &waiting = runtime.freedMeanwhile_; !waiting.empty() && waiting.front().first <= oldest; waiting.pop_front()) {
      freed.push_back(waiting.front().second);
    }
  }
  for (void *address : freed) std::free(address);
}

void *Runtime::AllocateOn(Device &device, size_t bytes) {
  const size_t reserved = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  if (!SharedState::Instance().ReserveMemory(device.logicId, reserved)) return nullptr;
  void *memory = std::aligned_alloc(ALIGNMENT, std::max(reserved, ALIGNMENT));
  if (memory == nullptr) {
    SharedState::Instance().ReleaseMemory(device.logicId, reserved);
    return nullptr;
  }
  const std::lock_guard lock(mutex_);
  allocations_.emplace(reinterpret_cast<uintptr_t>(memory), Allocation{bytes, reserved, &device, true});
  return memory;
}

aclError Runtime::Malloc(void **address, size_t size, bool withGuard) {
  if (address == nullptr || size == 0) return Fail(ACL_ERROR_INVALID_PARAM, "aclrtMalloc needs a place for the address and a size above 0");
  Device *device = nullptr;
  if (const aclError code = CurrentDevice(device); code != ACL_SUCCESS) return code;
  if (const aclError code = RequireLink(*device); code != ACL_SUCCESS) return code;
  const size_t rounded = (size + 31) / 32 * 32 + (withGuard ? 32 : 0);
  void *memory = nullptr;
  // A size near the largest number wraps around when it is rounded up.
  if (rounded > size - 1 && !Settings::Instance().Strike(FaultKind::OutOfMemory, device->logicId)) memory = AllocateOn(*device, rounded);
  if (memory == nullptr) {
    return Fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "out of device memory: " + std::to_string(size) + " bytes on " + Id(device->id));
  }
  *address = memory;
  return ACL_SUCCESS;
}

aclError Runtime::Free(void *address) {
  if (address == nullptr) return Fail(ACL_ERROR_INVALID_PARAM, "aclrtFree does not take null");
  Allocation allocation{};
  {
    const std::lock_guard lock(mutex_);
    const auto found = allocations_.find(reinterpret_cast<uintptr_t>(address));
    if (found == allocations_.end() || !found->second.isDevice) return Fail(ACL_ERROR_RT_PARAM_INVALID, "the address is not from aclrtMalloc, or was freed before");
    allocation = found->second;
    allocations_.erase(found);
    if (!runningTasks_.empty()) {
      freedMeanwhile_.emplace_back(nextTask_, address);
      address = nullptr;
    }
  }
  std::free(address);
  SharedState::Instance().ReleaseMemory(allocation.device->logicId, allocation.reserved);
  return ACL_SUCCESS;
}

aclError Runtime::MallocHost(void **address, size_t size) {
  if (address == nullptr || size == 0) return Fail(ACL_ERROR_INVALID_PARAM, "aclrtMallocHost needs a place for the address and a size above 0");
  Handle context = 0;
  if (const aclError code = CurrentContext(context); code != ACL_SUCCESS) return code;
  const size_t rounded = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  void *memory = rounded < size ? nullptr : std::aligned_alloc(ALIGNMENT, rounded);
  if (memory == nullptr) return Fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "out of host memory: " + std::to_string(size) + " bytes");
  const std::lock_guard lock(mutex_);
  allocations_.emplace(reinterpret_cast<uintptr_t>(memory), Allocation{size, 0, nullptr, false});
  *address = memory;
  return ACL_SUCCESS;
}

aclError Runtime::FreeHost(void *address) {
  if (address == nullptr) return Fail(ACL_ERROR_INVALID_PARAM, "aclrtFreeHost does not take null");
  {
    const std::lock_guard lock(mutex_);
    const auto found = allocations_.find(reinterpret_cast<uintptr_t>(address));
    if (found == allocations_.end() || found->second.isDevice) return Fail(ACL_ERROR_RT_PARAM_INVALID, "the address is not from aclrtMallocHost, or was freed before");
    allocations_.erase(found);
  }
  std::free(address);
  return ACL_SUCCESS;
}

const Runtime::Allocation *Runtime::FindAllocation(const void *address, size_t *left) {
  const auto at = reinterpret_cast<uintptr_t>(address);
  auto next = allocations_.upper_bound(at);
  if (next == allocations_.begin()) return nullptr;
  --next;
  if (at >= next->first + next->second.size) return nullptr;
  *left = next->first + next->second.size - at;
  return &next->second;
}

bool Runtime::IsDeviceRange(const Device &device, const void *address, size_t bytes) {
  const std::lock_guard lock(mutex_);
  size_t left = 0;
  const Allocation *allocation = FindAllocation(address, &left);
  return allocation != nullptr && allocation->isDevice && allocation->device == &device && left >= bytes;
}

aclError Runtime::CheckCopy(const void *destination, size_t room, const void *source, size_t count, aclrtMemcpyKind kind, bool *isHostToHost,
                            bool *isPinned) {
  if (destination == nullptr || source == nullptr || count == 0) return Fail(ACL_ERROR_INVALID_PARAM, "a copy needs two addresses and a size above 0");
  if (count > room) {
    return Fail(ACL_ERROR_INVALID_PARAM, "a copy of " + std::to_string(count) + " bytes does not fit into " + std::to_string(room));
  }
  const std::lock_guard lock(mutex_);
  size_t destinationLeft = SIZE_MAX;
  size_t sourceLeft = SIZE_MAX;
  const Allocation *to = FindAllocation(destination, &destinationLeft);
  const Allocation *from = FindAllocation(source, &sourceLeft);
  const bool toDevice = to != nullptr && to->isDevice;
  const bool fromDevice = from != nullptr && from->isDevice;
  // CANN derives the direction from the addresses; here a wrong word is refused, because it is a mistake of the caller.
  bool isRight = true;
  switch (kind) {
    case ACL_MEMCPY_DEFAULT: break;
    case ACL_MEMCPY_HOST_TO_HOST: isRight = !toDevice && !fromDevice; break;
    case ACL_MEMCPY_HOST_TO_DEVICE: case ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE: isRight = toDevice && !fromDevice; break;
    case ACL_MEMCPY_DEVICE_TO_HOST: isRight = !toDevice && fromDevice; break;
    default: isRight = toDevice && fromDevice;
  }
  if (!isRight) {
    return Fail(ACL_ERROR_RT_PARAM_INVALID, std::string("the copy goes from ") + (fromDevice ? "device" : "host") + " to " + (toDevice ? "device" : "host") +
                                                " memory, not as kind " + std::to_string(kind) + " says");
  }
  if (count > destinationLeft || count > sourceLeft) return Fail(ACL_ERROR_RT_PARAM_INVALID, "the copy goes beyond the end of its allocation");
  for (const Allocation *side : {to, from}) {
    if (side != nullptr && side->isDevice && Settings::Instance().HasFault(FaultKind::CardLost, side->device->logicId)) {
      return Fail(ACL_ERROR_RT_SOCKET_CLOSE, "the link to " + Id(side->device->id) + " is gone");
    }
  }
  *isHostToHost = !toDevice && !fromDevice;
  *isPinned = (toDevice || to != nullptr) && (fromDevice || from != nullptr);
  return ACL_SUCCESS;
}

aclError Runtime::Memcpy(void *destination, size_t room, const void *source, size_t count, aclrtMemcpyKind kind) {
  Handle context = 0;
  if (const aclError code = CurrentContext(context); code != ACL_SUCCESS) return code;
  bool isHostToHost = false;
  bool isPinned = false;
  if (const aclError code = CheckCopy(destination, room, source, count, kind, &isHostToHost, &isPinned); code != ACL_SUCCESS) return code;
  std::memmove(destination, source, count);
  return ACL_SUCCESS;
}

aclError Runtime::MemcpyAsync(void *destination, size_t room, const void *source, size_t count, aclrtMemcpyKind kind, Handle handle) {
  std::shared_ptr<Stream> stream;
  if (const aclError code = FindStream(handle, stream); code != ACL_SUCCESS) return code;
  bool isHostToHost = false;
  bool isPinned = false;
  if (const aclError code = CheckCopy(destination, room, source, count, kind, &isHostToHost, &isPinned); code != ACL_SUCCESS) return code;
  if (isHostToHost) return Fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "an asynchronous copy from host to host memory is not supported");
  const Device *device = FindDevice(stream->device());
  const bool toDevice = IsDeviceRange(*device, destination, count);
  const bool fromDevice = IsDeviceRange(*device, source, count);
  const auto copy = [=, this](Stream &own) {
    TaskResult fault = TaskFault(*device, &own);
    if (fault.code != ACL_SUCCESS) return fault;
    const TaskScope scope;
    if ((toDevice && !IsDeviceRange(*device, destination, count)) || (fromDevice && !IsDeviceRange(*device, source, count))) {
      return TaskResult{ACL_ERROR_RT_AICORE_EXCEPTION, "the device memory of a copy was freed before the copy"};
    }
    std::memmove(destination, source, count);
    return fault;
  };
  if (isPinned) {
    stream->Enqueue({copy, {}});
    return ACL_SUCCESS;
  }
  // Pageable host memory: the call returns when the copy is done.
  struct Waiter {
    std::mutex mutex;
    std::condition_variable changed;
    bool isDone = false;
  };
  const auto waiter = std::make_shared<Waiter>();
  stream->Enqueue({copy, [waiter](const TaskResult &) {
                     const std::lock_guard lock(waiter->mutex);
                     waiter->isDone = true;
                     waiter->changed.notify_all();
                   }});
  std::unique_lock lock(waiter->mutex);
  waiter->changed.wait(lock, [&] { return waiter->isDone; });
  return ACL_SUCCESS;
}

aclError Runtime::Memset(void *address, size_t room, int32_t value, size_t count) {
  Device *device = nullptr;
  if (const aclError code = CurrentDevice(device); code != ACL_SUCCESS) return code;
  if (address == nullptr || count == 0 || count > room) return Fail(ACL_ERROR_INVALID_PARAM, "aclrtMemset needs an address and a size within its room");
  if (!IsDeviceRange(*device, address, count)) return Fail(ACL_ERROR_RT_PARAM_INVALID, "the range is not device memory of " + Id(device->id));
  std::memset(address, value, count);
  return ACL_SUCCESS;
}

// --- core limits

aclError Runtime::SetLimit(Device &device, aclrtDevResLimitType type, uint32_t value) {
  const auto available = static_cast<uint32_t>(type == ACL_RT_DEV_RES_CUBE_CORE ? device.profile.cubeCores : device.profile.vectorCores);
  if (value == 0 || value > available) {
    return Fail(ACL_ERROR_RT_PARAM_INVALID, "a limit of " + std::to_string(value) + " cores: " + Id(device.id) + " has " + std::to_string(available));
  }
  const std::lock_guard lock(mutex_);
  (type == ACL_RT_DEV_RES_CUBE_CORE ? device.cubeLimit : device.vectorLimit) = value;
  return ACL_SUCCESS;
}

aclError Runtime::SetStreamLimit(Stream &stream, aclrtDevResLimitType type, uint32_t value) {
  const Device *device = FindDevice(stream.device());
  const auto available = static_cast<uint32_t>(type == ACL_RT_DEV_RES_CUBE_CORE ? device->profile.cubeCores : device->profile.vectorCores);
  if (value == 0 || value > available) {
    return Fail(ACL_ERROR_RT_PARAM_INVALID, "a limit of " + std::to_string(value) + " cores: " + Id(device->id) + " has " + std::to_string(available));
  }
  const std::lock_guard lock(mutex_);
  (type == ACL_RT_DEV_RES_CUBE_CORE ? stream.cubeLimit : stream.vectorLimit) = value;
  return ACL_SUCCESS;
}

void Runtime::ClearLimits(Device &device) {
  const std::lock_guard lock(mutex_);
  device.cubeLimit = 0;
  device.vectorLimit = 0;
}

void Runtime::ClearLimits(Stream &stream) {
  const std::lock_guard lock(mutex_);
  stream.cubeLimit = 0;
  stream.vectorLimit = 0;
}

CoreShare Runtime::SharesOf(const Device &device, const Stream *stream) {
  const std::lock_guard lock(mutex_);
  const auto pick = [](uint32_t ofStream, uint32_t ofProcess, int all) {
    return ofStream > 0 ? static_cast<int>(ofStream) : ofProcess > 0 ? static_cast<int>(ofProcess) : all;
  };
  return {pick(stream == nullptr ? 0 : stream->cubeLimit, device.cubeLimit, device.profile.cubeCores),
          pick(stream == nullptr ? 0 : stream->vectorLimit, device.vectorLimit, device.profile.vectorCores)};
}

aclError Runtime::UseStreamLimits(Handle handle, bool use) {
  std::shared_ptr<Stream> stream;
  if (const aclError code = FindStream(handle, stream); code != ACL_SUCCESS) return code;
  Thread().limitStream = use ? stream->handle() : 0;
  return ACL_SUCCESS;
}

std::shared_ptr<Stream> Runtime::LimitStream() {
  const std::lock_guard lock(mutex_);
  const Handle handle = Thread().limitStream;
  if (handle == 0) return nullptr;
  const auto found = streams_.find(handle);
  if (found != streams_.end()) return found->second;
  for (const auto &[key, context] : contexts_) {
    if (context.defaultStream->handle() == handle) return context.defaultStream;
  }
  return nullptr;
}

// --- faults

TaskResult Runtime::TaskFault(const Device &device, Stream *stream) {
  Settings &settings = Settings::Instance();
  // A task that hangs ends only with its stream, or when the fault is taken back.
  while (settings.HasFault(FaultKind::Hang, device.logicId)) {
    if (stream != nullptr && stream->IsAborting()) return {ACL_ERROR_RT_DEVICE_TASK_ABORT, "the task was broken off"};
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  if (settings.HasFault(FaultKind::CardLost, device.logicId)) return {ACL_ERROR_RT_SOCKET_CLOSE, "the link to " + Id(device.id) + " is gone"};
  if (settings.Strike(FaultKind::Ecc, device.logicId)) {
    return {ACL_ERROR_RT_HBM_MULTI_BIT_ECC_ERROR, "a memory error of several bits on " + Id(device.id)};
  }
  if (settings.Strike(FaultKind::TaskTimeout, device.logicId)) return {ACL_ERROR_RT_AICORE_TIMEOUT, "an operator took too long on " + Id(device.id)};
  if (settings.Strike(FaultKind::OperatorException, device.logicId)) return {ACL_ERROR_RT_AICORE_EXCEPTION, "an operator failed on " + Id(device.id)};
  return {};
}

}  // namespace simulator
