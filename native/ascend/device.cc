#include "ascend/device.h"

#include <chrono>
#include <map>
#include <mutex>
#include <utility>

#include "ascend/supervised.h"

namespace npu_console::ascend {

namespace {

/** Starting a card takes seconds, resetting one too; a card that hangs may never let the driver finish. */
constexpr auto START_LIMIT = std::chrono::seconds(60);
constexpr auto RESET_LIMIT = std::chrono::seconds(30);

struct Entry {
  /** Held while the card is started or ended; other cards do not wait. */
  std::mutex mutex;
  std::weak_ptr<Device> shared;
  /** Set until its destructor is done, which is later than `shared` ends. */
  Device* live = nullptr;
};

/** Never destroyed: threads may let go of devices while the process ends. */
Entry& EntryOf(const AclApi& api, int id) {
  static std::mutex mutex;
  static auto& entries = *new std::map<std::pair<const AclApi*, int>, Entry>();
  const std::lock_guard lock(mutex);
  return entries[{&api, id}];
}

std::string Name(int id) { return "device " + std::to_string(id); }

}  // namespace

int Device::Count(const AclApi& api) {
  api.Initialize();
  uint32_t count = 0;
  ascend::Check(api, api.aclrtGetDeviceCount(&count), "counting the NPUs");
  return static_cast<int>(count);
}

std::shared_ptr<Device> Device::Acquire(const AclApi& api, int id) {
  const int count = Count(api);
  if (id < 0 || id >= count) {
    throw Error(ErrorKind::InvalidArgument, "There is no " + Name(id) + ": this process sees " + std::to_string(count) +
                                                " NPU(s), numbered from 0 (ASCEND_RT_VISIBLE_DEVICES hides and renumbers them); npu-console doctor lists them");
  }
  Entry& entry = EntryOf(api, id);
  std::shared_ptr<Device> existing;  // let go of after the lock, which its deleter takes
  const std::lock_guard lock(entry.mutex);
  existing = entry.shared.lock();
  if (existing != nullptr && !existing->is_faulty() && existing->TryUse()) return existing;
  // Reset before the new one sets it up, also where the old one is about to be destroyed on another thread.
  if (entry.live != nullptr && (entry.live->is_faulty() || !entry.live->TryUse())) entry.live->Retire();
  std::shared_ptr<Device> device(new Device(api, id), [&entry](Device* ended) {
    const std::lock_guard ending(entry.mutex);
    if (entry.live == ended) entry.live = nullptr;
    delete ended;
  });
  entry.shared = device;
  entry.live = device.get();
  return device;
}

Device::Device(const AclApi& api, int id)
    : api_(api), id_(id), device_memory_(*this, BufferPool::Place::Device), pinned_memory_(*this, BufferPool::Place::PinnedHost) {
  auto context = std::make_shared<aclrtContext>();
  RunSupervised("starting " + Name(id_), START_LIMIT, [&api, id, context] {
    ascend::Check(api, api.aclrtSetDevice(id), "starting " + Name(id) + " (aclrtSetDevice)");
    const aclError code = api.aclrtGetCurrentContext(context.get());
    if (code == ACL_SUCCESS) return;
    const Error error = MakeError(api, code, "getting the default context of " + Name(id));
    api.aclrtResetDevice(id);
    throw error;
  });
  context_ = *context;
  Use();
}

Device::~Device() {
  if (is_retired_) return;
  // Where another user of this process has reset it, giving back or resetting anything would hit what he built since.
  if (is_faulty_ || !TryUse()) {
    Retire();
    return;
  }
  device_memory_.Trim();
  pinned_memory_.Trim();
  api_.aclrtResetDevice(id_);
}

void Device::Retire() noexcept {
  if (is_retired_.exchange(true)) return;
  is_faulty_ = true;
  // Where somebody else in this process (another backend with the same card) has reset it already, a second reset would hit what he built since.
  if (api_.aclrtSetCurrentContext(context_) != ACL_SUCCESS) return;
  try {
    RunSupervised("resetting " + Name(id_), RESET_LIMIT, [&api = api_, id = id_] {
      // What it says is of no use: whether the card works again is found out by starting it.
      if (api.aclrtResetDeviceForce != nullptr) {
        api.aclrtResetDeviceForce(id);
      } else {
        api.aclrtResetDevice(id);
      }
    });
  } catch (const std::exception& error) {
    const std::lock_guard lock(mutex_);
    fault_ += std::string("; ") + error.what();
  }
}

void Device::RequireNoReset() const {
  if (!is_retired_) return;
  throw Error(ErrorKind::Unavailable, Name(id_) + " was reset after a fault (" + fault() + "): the instance has to be started again", ACL_ERROR_RT_CONTEXT_NULL,
              FaultScope::Device);
}

void Device::Use() {
  RequireNoReset();
  Check(api_.aclrtSetCurrentContext(context_), "working with " + Name(id_));
}

bool Device::TryUse() noexcept { return !is_retired_ && api_.aclrtSetCurrentContext(context_) == ACL_SUCCESS; }

bool Device::WasReset() noexcept { return is_retired_ || api_.aclrtSetCurrentContext(context_) == ACL_ERROR_RT_CONTEXT_NULL; }

void Device::Check(aclError code, const std::string& action) {
  if (code == ACL_SUCCESS) return;
  Error error = MakeError(api_, code, action);
  if (error.scope() == FaultScope::Device) ReportFault(error.what());
  throw error;
}

void Device::ReportFault(const std::string& reason) noexcept {
  const std::lock_guard lock(mutex_);
  if (!is_faulty_.exchange(true)) fault_ = reason;
}

void Device::RequireSound() const {
  RequireNoReset();
  if (is_faulty_) throw Error(ErrorKind::Unavailable, Name(id_) + " is out of order: " + fault(), 0, FaultScope::Device);
}

std::string Device::fault() const {
  const std::lock_guard lock(mutex_);
  return fault_;
}

Device::Memory Device::memory() {
  Use();
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  Check(api_.aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total_bytes), "reading the free memory of " + Name(id_));
  // An attribute that the chip does not know gives 0; chips with DDR are mapped there by CANN itself, but not in every version.
  if (total_bytes == 0) Check(api_.aclrtGetMemInfo(ACL_DDR_MEM, &free_bytes, &total_bytes), "reading the free memory of " + Name(id_));
  return {free_bytes, total_bytes};
}

std::string SocName(const AclApi& api) {
  const char* name = api.aclrtGetSocName();
  return name == nullptr ? "" : name;
}

}  // namespace npu_console::ascend
