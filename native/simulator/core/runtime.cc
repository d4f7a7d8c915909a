#include "core/runtime.h"

#include <cstdlib>

#include "core/errors.h"
#include "core/shared_state.h"
#include "core/thread_state.h"
#include "shared/json.h"

namespace simulator {

using npu_console::Json;

namespace {

/** AscendCL's configuration file may not be nested deeper. */
constexpr int CONFIG_DEPTH = 10;

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

// --- devices and contexts

aclError Runtime::SetDevice(int id) {
  Device *device = FindDevice(id);
  if (device == nullptr) {
    return Fail(ACL_ERROR_RT_INVALID_DEVICEID, Id(id) + " does not exist: there are " + std::to_string(devices_.size()));
  }
  bool isOpen = false;
  {
    const std::lock_guard lock(mutex_);
    isOpen = device->setCount > 0;
  }
  // A device that is open already only needs its link.
  const aclError fault = isOpen ? RequireLink(*device, FaultPoint::Open) : CallFault(*device, FaultPoint::Open);
  if (fault != ACL_SUCCESS) return fault;
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
  device.broken = ACL_SUCCESS;
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
  uint64_t generation = 0;
  {
    const std::lock_guard lock(mutex_);
    if (device->setCount == 0) return Fail(ACL_ERROR_RT_CONTEXT_NULL, Id(id) + " was not set");
    if (!force && --device->setCount > 0) return ACL_SUCCESS;
    generation = device->generation;
    ReleaseDevice(*device, streams);
  }
  for (const auto &stream : streams) stream->Stop(true);
  FreeAllOf(*device, generation);
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

}  // namespace simulator
