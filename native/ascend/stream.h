// A queue of work on a card.
#pragma once

#include <chrono>
#include <memory>

#include "acl/acl.h"

namespace npu_console::ascend {

class Device;

/**
 * A stream of the card's default context. Used by one thread at a time; that thread has called Device::Use.
 * Its destructor waits for what was launched, unless the stream or the card is given up.
 */
class Stream {
 public:
  /** @throws Error */
  explicit Stream(std::shared_ptr<Device> device);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  aclrtStream handle() const { return handle_; }
  Device& device() const { return *device_; }

  /** Copies; asynchronous where the host memory is pinned (Device::pinned_memory). @throws Error */
  void CopyToDevice(void* target, size_t capacity, const void* source, size_t bytes);
  void CopyToHost(void* target, size_t capacity, const void* source, size_t bytes);

  /**
   * Waits until everything launched is done.
   * @param limit zero: as long as it takes
   * @throws Error the first one of what was launched; of scope Device when the limit is over: nobody knows when the card stops writing
   */
  void Synchronize(std::chrono::milliseconds limit);

  /** The stream will be destroyed without waiting for its work: after an error or a hang. */
  void GiveUp() { is_given_up_ = true; }

 private:
  std::shared_ptr<Device> device_;
  aclrtStream handle_ = nullptr;
  bool is_given_up_ = false;
};

}  // namespace npu_console::ascend
