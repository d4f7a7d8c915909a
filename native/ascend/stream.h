// A queue of work on a card.
#pragma once

#include <chrono>
#include <memory>
#include <string>

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

  /**
   * After an error: waits until nothing that was launched runs any more, and breaks off what does not end. A call that waits can fail without having waited,
   * so its error never means by itself that the memory of the work is free. Where the card does not say it is idle it is reported faulty: its pools keep what they
   * get back until it was reset.
   * @param limit of one wait
   * @returns whether the stream can be used further
   */
  bool Settle(std::chrono::milliseconds limit) noexcept;

  /** Whether it has failed as a whole: nothing new belongs on it, and it is destroyed without waiting for its work. */
  bool is_given_up() const { return is_given_up_; }

 private:
  void Check(aclError code, const std::string& action);
  void Await(std::chrono::milliseconds limit, const std::string& action);
  bool BreakOff() noexcept;

  std::shared_ptr<Device> device_;
  aclrtStream handle_ = nullptr;
  bool is_given_up_ = false;
};

}  // namespace npu_console::ascend
