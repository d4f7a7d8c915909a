#include "ascend/stream.h"

#include <string>
#include <thread>

#include "ascend/acl_error.h"
#include "ascend/device.h"

namespace npu_console::ascend {

namespace {

/** How often a CANN that cannot wait with a limit is asked. */
constexpr auto POLL = std::chrono::milliseconds(1);

std::string On(const Device& device) { return " on device " + std::to_string(device.id()); }

}  // namespace

Stream::Stream(std::shared_ptr<Device> device) : device_(std::move(device)) {
  device_->Use();
  device_->Check(device_->api().aclrtCreateStream(&handle_), "creating a stream" + On(*device_));
}

Stream::~Stream() {
  const AclApi& api = device_->api();
  // A reset card has taken its streams with it.
  if (!device_->TryUse()) return;
  if (is_given_up_ || device_->is_faulty()) {
    if (api.aclrtStreamAbort != nullptr) api.aclrtStreamAbort(handle_);
    if (api.aclrtDestroyStreamForce != nullptr) {
      api.aclrtDestroyStreamForce(handle_);
      return;
    }
    // Without the forced variant, destroying waits; on a card that hangs that is for ever, and resetting the card frees the stream too.
    if (device_->is_faulty()) return;
  }
  api.aclrtDestroyStream(handle_);
}

void Stream::CopyToDevice(void* target, size_t capacity, const void* source, size_t bytes) {
  if (bytes == 0) return;
  device_->Check(device_->api().aclrtMemcpyAsync(target, capacity, source, bytes, ACL_MEMCPY_HOST_TO_DEVICE, handle_),
                 "copying " + std::to_string(bytes) + " bytes to" + On(*device_).substr(3));
}

void Stream::CopyToHost(void* target, size_t capacity, const void* source, size_t bytes) {
  if (bytes == 0) return;
  device_->Check(device_->api().aclrtMemcpyAsync(target, capacity, source, bytes, ACL_MEMCPY_DEVICE_TO_HOST, handle_),
                 "copying " + std::to_string(bytes) + " bytes from" + On(*device_).substr(3));
}

void Stream::Synchronize(std::chrono::milliseconds limit) {
  const AclApi& api = device_->api();
  const std::string action = "waiting for the work" + On(*device_);
  if (limit.count() <= 0) return device_->Check(api.aclrtSynchronizeStream(handle_), action);
  if (api.aclrtSynchronizeStreamWithTimeout != nullptr) {
    const aclError code = api.aclrtSynchronizeStreamWithTimeout(handle_, static_cast<int32_t>(std::min<int64_t>(limit.count(), INT32_MAX)));
    return device_->Check(code, action + (code == ACL_ERROR_RT_STREAM_SYNC_TIMEOUT ? " (" + std::to_string(limit.count()) + " ms allowed)" : ""));
  }
  if (api.aclrtStreamQuery != nullptr) {
    const auto end = std::chrono::steady_clock::now() + limit;
    aclrtStreamStatus status = ACL_STREAM_STATUS_NOT_READY;
    while (true) {
      device_->Check(api.aclrtStreamQuery(handle_, &status), action);
      if (status == ACL_STREAM_STATUS_COMPLETE) break;
      if (std::chrono::steady_clock::now() >= end) device_->Check(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, action + " (" + std::to_string(limit.count()) + " ms allowed)");
      std::this_thread::sleep_for(POLL);
    }
  }
  device_->Check(api.aclrtSynchronizeStream(handle_), action);
}

}  // namespace npu_console::ascend
