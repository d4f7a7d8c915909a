// A card as this process uses it. The rules of AscendCL about devices, contexts and threads hold by construction here and nowhere else:
//  - aclInit comes first, once per process;
//  - the process holds one aclrtSetDevice of its own as long as the device is in use, since GE sets and resets the device in pairs while it loads;
//  - all streams, memory and models live in the device's default context, which is saved once and made current on whatever thread works (Use);
//    GE leaves the calling thread on a private context of its own, so Use again after calls of GE;
//  - a card that failed is reset and set up anew by the next Acquire, and what still holds on to the old one gets errors instead of dangling handles.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "ascend/acl_api.h"
#include "ascend/acl_error.h"
#include "ascend/buffer_pool.h"

namespace npu_console::ascend {

class Device {
 public:
  /**
   * The device of this process, shared by all who ask. Initialises AscendCL, sets the device up and leaves it current on the calling thread. A device that
   * was reported faulty is reset first; whoever still holds it can only let go of it.
   * @param id logical, as ASCEND_RT_VISIBLE_DEVICES numbers them
   * @throws Error InvalidArgument for a number that is not there, Unavailable for a card that cannot be started
   */
  static std::shared_ptr<Device> Acquire(const AclApi& api, int id);
  /** How many logical devices this process sees. @throws Error */
  static int Count(const AclApi& api);

  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  /** Makes the device's default context current on this thread. Cheap; call it before each piece of work and after calls of GE. @throws Error */
  void Use();
  /** The same without an exception: false when the device was reset meanwhile. For destructors. */
  bool TryUse() noexcept;

  /** Whether the device was reset since this was made, here or by another user of this process: all that belonged to it is gone. Makes it current where it was not. */
  bool WasReset() noexcept;

  /** Check of acl_error.h, which also notes when the card itself is at fault. @throws Error */
  void Check(aclError code, const std::string& action);
  /** After an error of scope Device: nothing new is started here, and the next Acquire resets the card. */
  void ReportFault(const std::string& reason) noexcept;
  bool is_faulty() const { return is_faulty_; }
  /** For what must not begin on a faulty card. @throws Error Unavailable of scope Device with the fault's text */
  void RequireSound() const;
  /** Why; empty while all is well. */
  std::string fault() const;

  const AclApi& api() const { return api_; }
  int id() const { return id_; }
  aclrtContext default_context() const { return context_; }

  struct Memory {
    uint64_t free_bytes = 0;
    uint64_t total_bytes = 0;
  };
  /** HBM, or DDR where the chip has no HBM. @throws Error */
  Memory memory();

  BufferPool& device_memory() { return device_memory_; }
  BufferPool& pinned_memory() { return pinned_memory_; }

 private:
  Device(const AclApi& api, int id);
  void RequireNoReset() const;
  /** Ends the use of a faulty card: from here on every handle that belonged to it is invalid. */
  void Retire() noexcept;

  const AclApi& api_;
  const int id_;
  aclrtContext context_ = nullptr;
  std::atomic<bool> is_faulty_{false};
  std::atomic<bool> is_retired_{false};
  mutable std::mutex mutex_;
  std::string fault_;
  BufferPool device_memory_;
  BufferPool pinned_memory_;
};

/** The chip of the first device, as "Ascend310P3"; empty when CANN does not say. CANN has no such question for the others. */
std::string SocName(const AclApi& api);

}  // namespace npu_console::ascend
