// The state of one process that uses simulated cards: initialisation, each thread's context, devices, streams, events and memory. It knows
// CANN's rules; the libraries with CANN's names only translate.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "acl/acl_rt.h"
#include "core/settings.h"
#include "core/stream.h"

namespace simulator {

/** The cores of one chip: runs that together want more than there are wait in line. */
class CorePool {
 public:
  explicit CorePool(int cores) : free_(cores) {}
  void Take(int cores);
  void Give(int cores);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int free_;
  uint64_t nextTicket_ = 0;
  uint64_t served_ = 0;
};

struct Device {
  explicit Device(const Profile &kind, int number, int machineNumber);

  const Profile &profile;
  /** As this process counts them (after ASCEND_RT_VISIBLE_DEVICES). */
  const int id;
  /** As the machine counts them; what faults, telemetry and the shared state use. */
  const int logicId;
  CorePool cores;
  /** Counts the resets: what was allocated before one is gone. */
  std::atomic<uint64_t> generation{0};
  /** The code of a fault after which the device answers nothing else until it is reset; ACL_SUCCESS: none. */
  mutable std::atomic<aclError> broken{ACL_SUCCESS};

  // Below: only with the runtime's lock.
  int setCount = 0;
  Handle defaultContext = 0;
  uint32_t streamCount = 0;
  uint32_t cubeLimit = 0;
  uint32_t vectorLimit = 0;
};

struct Context {
  Device *device;
  bool isDefault;
  std::shared_ptr<Stream> defaultStream;
};

/** Cores a run may use: the stream's limit, else the process's, else all. */
struct CoreShare {
  int cube;
  int vector;
};

class Runtime {
 public:
  static Runtime &Instance();

  // Initialisation: the counts of aclInit.
  aclError Initialize(const char *configPath);
  aclError Finalize();
  aclError FinalizeReference(uint64_t *count);
  /** 100001 before aclInit, 100039 in stub mode, 500000 without settings; else ACL_SUCCESS. */
  aclError RequireInitialized();
  /** As RequireInitialized without asking for aclInit: for GE, which does not need it. */
  aclError RequireCards();

  size_t deviceCount() const { return devices_.size(); }
  /** Null for an id that does not exist. */
  Device *FindDevice(int id);

  aclError SetDevice(int id);
  aclError ResetDevice(int id, bool force);
  aclError CurrentDevice(Device *&device);

  aclError CreateContext(int id, Handle &context);
  aclError DestroyContext(Handle context);
  aclError SetCurrentContext(Handle context);
  aclError CurrentContext(Handle &context);
  /** Makes a context of GE's own and leaves the calling thread on it. */
  aclError EnterPrivateContext(int id, Handle &context);
  /** Drops a private context without complaint when it is gone already. */
  void DropContext(Handle context);
  Handle DefaultContext(int id);

  aclError CreateStream(Handle &stream);
  aclError DestroyStream(Handle stream, bool force);
  /** The stream (0: the default one) if it belongs to the thread's current context. */
  aclError FindStream(Handle handle, std::shared_ptr<Stream> &stream);
  aclError SynchronizeStream(Handle handle, int64_t milliseconds);
  aclError SynchronizeDevice();
  aclError StreamsLeft(uint32_t &count);

  aclError CreateEvent(Handle &event);
  aclError DestroyEvent(Handle event);
  aclError FindEvent(Handle handle, std::shared_ptr<Event> &event);
  aclError SynchronizeEvent(Handle handle);

  aclError Malloc(void **address, size_t size, bool withGuard);
  aclError Free(void *address);
  aclError MallocHost(void **address, size_t size);
  aclError FreeHost(void *address);
  aclError Memcpy(void *destination, size_t room, const void *source, size_t count, aclrtMemcpyKind kind);
  aclError MemcpyAsync(void *destination, size_t room, const void *source, size_t count, aclrtMemcpyKind kind, Handle stream);
  aclError Memset(void *address, size_t room, int32_t value, size_t count);
  /** Whether the range lies inside one allocation of that device. */
  bool IsDeviceRange(const Device &device, const void *address, size_t bytes);
  /** Whether the range lies inside one allocation of pinned host memory. */
  bool IsPinnedRange(const void *address, size_t bytes);
  /**
   * Held by a task while it touches device or pinned memory: what is freed meanwhile stays readable until the task is done, because aclrtFree does
   * not wait and a card would not take this process down.
   */
  class TaskScope {
   public:
    TaskScope();
    ~TaskScope();
    TaskScope(const TaskScope &) = delete;
    TaskScope &operator=(const TaskScope &) = delete;

   private:
    uint64_t number_;
  };
  /** Device memory without a thread context: for models and GE. Counts against the chip. @returns null when the chip is full */
  void *AllocateOn(Device &device, size_t bytes);

  aclError SetLimit(Device &device, aclrtDevResLimitType type, uint32_t value);
  aclError SetStreamLimit(Stream &stream, aclrtDevResLimitType type, uint32_t value);
  void ClearLimits(Device &device);
  void ClearLimits(Stream &stream);
  CoreShare SharesOf(const Device &device, const Stream *stream);
  aclError UseStreamLimits(Handle stream, bool use);
  /** The stream whose limits the calling thread took over; null: none. */
  std::shared_ptr<Stream> LimitStream();

  // Faults (runtime_faults.cc). Not to be called with the lock held: a hang takes its time.
  /** A lost link, which a call notices that only starts work. */
  aclError RequireLink(const Device &device, FaultPoint point);
  /** What a call that waits for the device ends with when a fault is set. On a card that hangs it gives up when the heartbeat is lost. */
  TaskResult FaultOfCall(const Device &device, FaultPoint point);
  /** As FaultOfCall, noted as the calling thread's error. */
  aclError CallFault(const Device &device, FaultPoint point);
  /** What a task on the device ends with when a fault is set. While a hang lasts, it hangs: without a stream only until the heartbeat is lost. */
  TaskResult TaskFault(const Device &device, Stream *stream, FaultPoint point);
  /** Tells a call that waits for a device when to give up, because the card hangs: see IsLost. */
  class Heartbeat {
   public:
    explicit Heartbeat(const Device &device) : device_(device) {}
    /** Whether the card has been hanging, each time this was asked, for as long as a heartbeat may stay away. */
    bool IsLost();

   private:
    const Device &device_;
    uint64_t hangsSince_ = 0;
  };

 private:
  struct Allocation {
    size_t size;
    size_t reserved;
    Device *device;
    bool isDevice;
    /** The device's when it was made. */
    uint64_t generation;
  };

  Runtime();
  void ReleaseDevice(Device &device, std::vector<std::shared_ptr<Stream>> &streams);
  /** What was left on the device at that generation goes with it. */
  void FreeAllOf(const Device &device, uint64_t generation);
  std::shared_ptr<Stream> NewStream(Handle context, Device &device);
  /** The allocation that holds the address; null: ordinary host memory. Call with the lock held. */
  const Allocation *FindAllocation(const void *address, size_t *left);
  struct Copy {
    bool toDevice;
    bool fromDevice;
    bool isPinned;
    /** Null between two places of host memory. */
    const Device *device;
    FaultPoint point() const { return !fromDevice ? FaultPoint::CopyIn : !toDevice ? FaultPoint::CopyOut : FaultPoint::CopyInside; }
  };
  aclError CheckCopy(const void *destination, size_t room, const void *source, size_t count, aclrtMemcpyKind kind, Copy &copy);
  /** Waits until the stream is idle; -1: for ever, unless the card hangs. */
  aclError AwaitStream(Stream &stream, const Device &device, int64_t milliseconds);
  /** The result of a fault that struck; remembers it on the device if the device has to be reset. */
  TaskResult Struck(const Fault &fault, const Device &device, FaultPoint point);
  Handle NextHandle() { return nextHandle_ += 64; }

  std::vector<std::unique_ptr<Device>> devices_;
  std::mutex mutex_;
  uint64_t initCount_ = 0;
  bool wasFinalized_ = false;
  Handle nextHandle_ = 0x5100'0000'0000;
  std::map<Handle, Context> contexts_;
  std::map<Handle, std::shared_ptr<Stream>> streams_;
  std::map<Handle, std::shared_ptr<Event>> events_;
  std::map<uintptr_t, Allocation> allocations_;
  uint64_t nextTask_ = 0;
  std::set<uint64_t> runningTasks_;
  /** With the number of the first task that began after the free: oldest first. */
  std::deque<std::pair<uint64_t, void *>> freedMeanwhile_;
};

template <typename Pointer>
Handle ToHandle(Pointer pointer) {
  return reinterpret_cast<Handle>(pointer);
}
inline void *FromHandle(Handle handle) { return reinterpret_cast<void *>(handle); }

}  // namespace simulator
