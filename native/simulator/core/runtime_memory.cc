// The runtime's memory: device and pinned host memory with its accounts, and copies between them.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "core/call_log.h"
#include "core/errors.h"
#include "core/runtime.h"
#include "core/shared_state.h"
#include "core/thread_state.h"

namespace simulator {

namespace {

constexpr size_t ALIGNMENT = 64;

}  // namespace

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
  allocations_.emplace(reinterpret_cast<uintptr_t>(memory), Allocation{bytes, reserved, &device, true, device.generation});
  return memory;
}

aclError Runtime::Malloc(void **address, size_t size, bool withGuard) {
  if (address == nullptr || size == 0) return Fail(ACL_ERROR_INVALID_PARAM, "aclrtMalloc needs a place for the address and a size above 0");
  Device *device = nullptr;
  if (const aclError code = CurrentDevice(device); code != ACL_SUCCESS) return code;
  if (const aclError code = CallFault(*device, FaultPoint::Memory); code != ACL_SUCCESS) return code;
  const size_t rounded = (size + 31) / 32 * 32 + (withGuard ? 32 : 0);
  void *memory = nullptr;
  // A size near the largest number wraps around when it is rounded up.
  if (rounded > size - 1) memory = AllocateOn(*device, rounded);
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

void Runtime::FreeAllOf(const Device &device, uint64_t generation) {
  std::vector<void *> freed;
  size_t reserved = 0;
  {
    const std::lock_guard lock(mutex_);
    for (auto it = allocations_.begin(); it != allocations_.end();) {
      const Allocation &allocation = it->second;
      if (!allocation.isDevice || allocation.device != &device || allocation.generation > generation) {
        ++it;
        continue;
      }
      reserved += allocation.reserved;
      auto *address = reinterpret_cast<void *>(it->first);
      if (runningTasks_.empty()) freed.push_back(address);
      else freedMeanwhile_.emplace_back(nextTask_, address);
      it = allocations_.erase(it);
    }
  }
  for (void *address : freed) std::free(address);
  SharedState::Instance().ReleaseMemory(device.logicId, reserved);
}

aclError Runtime::MallocHost(void **address, size_t size) {
  if (address == nullptr || size == 0) return Fail(ACL_ERROR_INVALID_PARAM, "aclrtMallocHost needs a place for the address and a size above 0");
  Handle context = 0;
  if (const aclError code = CurrentContext(context); code != ACL_SUCCESS) return code;
  const size_t rounded = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  void *memory = rounded < size ? nullptr : std::aligned_alloc(ALIGNMENT, rounded);
  if (memory == nullptr) return Fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "out of host memory: " + std::to_string(size) + " bytes");
  const std::lock_guard lock(mutex_);
  allocations_.emplace(reinterpret_cast<uintptr_t>(memory), Allocation{size, 0, nullptr, false, 0});
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
    if (!runningTasks_.empty()) {
      freedMeanwhile_.emplace_back(nextTask_, address);
      address = nullptr;
    }
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

bool Runtime::IsPinnedRange(const void *address, size_t bytes) {
  const std::lock_guard lock(mutex_);
  size_t left = 0;
  const Allocation *allocation = FindAllocation(address, &left);
  return allocation != nullptr && !allocation->isDevice && left >= bytes;
}

aclError Runtime::CheckCopy(const void *destination, size_t room, const void *source, size_t count, aclrtMemcpyKind kind, Copy &copy) {
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
  copy = {toDevice, fromDevice, (toDevice || to != nullptr) && (fromDevice || from != nullptr), toDevice ? to->device : fromDevice ? from->device : nullptr};
  return ACL_SUCCESS;
}

aclError Runtime::Memcpy(void *destination, size_t room, const void *source, size_t count, aclrtMemcpyKind kind) {
  Handle context = 0;
  if (const aclError code = CurrentContext(context); code != ACL_SUCCESS) return code;
  Copy copy{};
  if (const aclError code = CheckCopy(destination, room, source, count, kind, copy); code != ACL_SUCCESS) return code;
  if (copy.device != nullptr) {
    if (const aclError code = CallFault(*copy.device, copy.point()); code != ACL_SUCCESS) return code;
  }
  std::memmove(destination, source, count);
  return ACL_SUCCESS;
}

aclError Runtime::MemcpyAsync(void *destination, size_t room, const void *source, size_t count, aclrtMemcpyKind kind, Handle handle) {
  std::shared_ptr<Stream> stream;
  if (const aclError code = FindStream(handle, stream); code != ACL_SUCCESS) return code;
  Copy copy{};
  if (const aclError code = CheckCopy(destination, room, source, count, kind, copy); code != ACL_SUCCESS) return code;
  if (copy.device == nullptr) return Fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "an asynchronous copy from host to host memory is not supported");
  if (const aclError code = RequireLink(*copy.device, copy.point()); code != ACL_SUCCESS) return code;
  const Device *device = FindDevice(stream->device());
  const bool toDevice = IsDeviceRange(*device, destination, count);
  const bool fromDevice = IsDeviceRange(*device, source, count);
  // With pageable memory the call waits for the copy, so that only pinned memory can be gone by then.
  const void *pinned = copy.isPinned && !(copy.toDevice && copy.fromDevice) ? (copy.toDevice ? source : destination) : nullptr;
  const auto task = [=, this](Stream &own) {
    const NotedTask noted(copy.point() == FaultPoint::CopyIn ? "copy-in" : copy.point() == FaultPoint::CopyOut ? "copy-out" : "copy-inside", device->id, own.handle());
    TaskResult fault = TaskFault(*device, &own, copy.point());
    if (fault.code != ACL_SUCCESS) return fault;
    const TaskScope scope;
    if ((toDevice && !IsDeviceRange(*device, destination, count)) || (fromDevice && !IsDeviceRange(*device, source, count))) {
      return TaskResult{ACL_ERROR_RT_AICORE_EXCEPTION, "the device memory of a copy was freed before the copy"};
    }
    if (pinned != nullptr && !IsPinnedRange(pinned, count)) return TaskResult{ACL_ERROR_RT_SYS_DMA, "the pinned memory of a copy was freed before the copy"};
    std::memmove(destination, source, count);
    return fault;
  };
  if (copy.isPinned) {
    stream->Enqueue({task, {}});
    return ACL_SUCCESS;
  }
  // Pageable host memory: the call returns when the copy is done.
  struct Waiter {
    std::mutex mutex;
    std::condition_variable changed;
    bool isDone = false;
  };
  const auto waiter = std::make_shared<Waiter>();
  stream->Enqueue({task, [waiter](const TaskResult &) {
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

}  // namespace simulator
