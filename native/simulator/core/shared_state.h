// What all processes that use the simulated cards share: memory in use, recent load and heat of each chip, kept in one small mapped file so
// that npu-smi and DCMI see the load that a server makes. Dead processes are forgotten.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace simulator {

struct ProcessUse {
  pid_t pid;
  uint64_t memoryBytes;
};

/** Shares of the last second, 0 to 1, and the heat that lags behind them. */
struct DeviceLoad {
  double cube;
  double vector;
  double bandwidth;
  double heat;
};

class SharedState {
 public:
  static SharedState &Instance();

  /** Empty, or why the state file cannot be used. */
  const std::string &problem() const { return problem_; }

  /** Takes device memory for this process. @returns false when the chip has not as much left */
  bool ReserveMemory(int device, uint64_t bytes);
  void ReleaseMemory(int device, uint64_t bytes);
  /** Of all processes, with what the chip itself holds. */
  uint64_t MemoryInUse(int device);
  std::vector<ProcessUse> Processes(int device);

  /** A run took `seconds` on the given shares of the chip and moved so many bytes. */
  void RecordRun(int device, double seconds, double cubeShare, double vectorShare, double bytes);
  DeviceLoad Load(int device);

 private:
  SharedState();
  class Guard;
  struct Layout;

  std::mutex mutex_;
  std::string problem_;
  int file_ = -1;
  Layout *layout_ = nullptr;
};

/** Monotonic, the same in all processes. */
uint64_t NowNanoseconds();

}  // namespace simulator
