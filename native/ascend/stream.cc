#include "ascend/stream.h"

#include <string>
#include <thread>

#include "ascend/acl_error.h"
#include "ascend/device.h"

namespace npu_console::ascend {

namespace {

/** How often a CANN that cannot wait with a limit is asked. */
constexpr auto POLL = std::chrono::milliseconds(1);
/** Waits of one Settle: the first may end with an error of the work, the second with one of its own. */
constexpr int SETTLE_WAITS = 3;

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

void Stream::Check(aclError code, const std::string& action) {
  try {
    device_->Check(code, action);
  } catch (const Error& error) {
    if (error.scope() != FaultScope::Call) is_given_up_ = true;
    throw;
  }
}

void Stream::CopyToDevice(void* target, size_t capacity, const void* source, size_t bytes) {
  if (bytes == 0) return;
  Check(device_->api().aclrtMemcpyAsync(target, capacity, source, bytes, ACL_MEMCPY_HOST_TO_DEVICE, handle_),
        "copying " + std::to_string(bytes) + " bytes to" + On(*device_).substr(3));
}

void Stream::CopyToHost(void* target, size_t capacity, const void* source, size_t bytes) {
  if (bytes == 0) return;
  Check(device_->api().aclrtMemcpyAsync(target, capacity, source, bytes, ACL_MEMCPY_DEVICE_TO_HOST, handle_),
        "copying " + std::to_string(bytes) + " bytes from" + On(*device_).substr(3));
}

void Stream::Synchronize(std::chrono::milliseconds limit) {
  Await(limit, "waiting for the work" + On(*device_));
  // A card that another user of this process has reset meanwhile did not do the work, whatever the wait says.
  device_->Use();
}

void Stream::Await(std::chrono::milliseconds limit, const std::string& action) {
  const AclApi& api = device_->api();
  if (limit.count() <= 0) return Check(api.aclrtSynchronizeStream(handle_), action);
  if (api.aclrtSynchronizeStreamWithTimeout != nullptr) {
    const aclError code = api.aclrtSynchronizeStreamWithTimeout(handle_, static_cast<int32_t>(std::min<int64_t>(limit.count(), INT32_MAX)));
    return Check(code, action + (code == ACL_ERROR_RT_STREAM_SYNC_TIMEOUT ? " (" + std::to_string(limit.count()) + " ms allowed)" : ""));
  }
  if (api.aclrtStreamQuery != nullptr) {
    const auto end = std::chrono::steady_clock::now() + limit;
    aclrtStreamStatus status = ACL_STREAM_STATUS_NOT_READY;
    while (true) {
      Check(api.aclrtStreamQuery(handle_, &status), action);
      if (status == ACL_STREAM_STATUS_COMPLETE) break;
      if (std::chrono::steady_clock::now() >= end) Check(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, action + " (" + std::to_string(limit.count()) + " ms allowed)");
      std::this_thread::sleep_for(POLL);
    }
  }
  Check(api.aclrtSynchronizeStream(handle_), action);
}

bool Stream::Settle(std::chrono::milliseconds limit) noexcept {
  for (int wait = 0; wait < SETTLE_WAITS && !device_->is_faulty(); wait++) {
    try {
      device_->Use();
      Synchronize(limit);
      return !is_given_up_;
    } catch (const Error&) {
      // Whoever launched the work has an error already; here it only matters whether the work is over.
    }
  }
  is_given_up_ = true;
  if (!device_->is_faulty() && !BreakOff()) {
    device_->ReportFault("Nobody knows whether the work" + On(*device_) + " has ended: the card fails to say so, and did not break it off. It is reset before it is used again");
  }
  return false;
}

bool Stream::BreakOff() noexcept {
  const AclApi& api = device_->api();
  // A reset card has taken its work with it.
  if (!device_->TryUse()) return true;
  if (api.aclrtStreamAbort != nullptr && api.aclrtStreamAbort(handle_) == ACL_SUCCESS) return true;
  aclrtStreamStatus status = ACL_STREAM_STATUS_NOT_READY;
  return api.aclrtStreamQuery != nullptr && api.aclrtStreamQuery(handle_, &status) == ACL_SUCCESS && status == ACL_STREAM_STATUS_COMPLETE;
}

}  // namespace npu_console::ascend
