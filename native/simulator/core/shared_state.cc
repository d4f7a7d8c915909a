#include "core/shared_state.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "core/settings.h"

namespace simulator {

namespace {

constexpr uint64_t MAGIC = 0x3153'5550'4e4d'4953u;
constexpr int MAX_DEVICES = 64;
constexpr int MAX_PROCESSES = 32;
/** Load is kept in slices of 50 ms; the newest 20 whole ones make the last second. */
constexpr uint64_t SLICE_NANOSECONDS = 50'000'000;
constexpr uint64_t WINDOW_SLICES = 20;
constexpr uint64_t KEPT_SLICES = 64;
constexpr double HEAT_SECONDS = 20;

struct Slice {
  uint64_t number;
  double cubeSeconds;
  double vectorSeconds;
  double bytes;
};

struct Process {
  int64_t pid;
  uint64_t startTime;
  uint64_t memoryBytes;
};

struct DeviceRecord {
  Process processes[MAX_PROCESSES];
  Slice slices[KEPT_SLICES];
  double heat;
  uint64_t heatAt;
};

/**
 * When the process began, in clock ticks since boot: tells a reused process id. 0 when there is no such process. That of its first thread, since qemu-user makes a
 * /proc/<pid>/stat up for the process itself, with another time than all others read there.
 */
uint64_t ProcessStartTime(int64_t pid) {
  const std::string id = std::to_string(pid);
  std::string text;
  if (!ReadWholeFile("/proc/" + id + "/task/" + id + "/stat", text)) return 0;
  const size_t end = text.rfind(')');
  if (end == std::string::npos) return 0;
  size_t at = end + 1;
  for (int field = 2; field < 21 && at != std::string::npos; field++) at = text.find(' ', at + 1);
  return at == std::string::npos ? 0 : std::strtoull(text.c_str() + at, nullptr, 10);
}

void Cool(DeviceRecord &record, uint64_t now) {
  if (now > record.heatAt) record.heat *= std::exp(-static_cast<double>(now - record.heatAt) / 1e9 / HEAT_SECONDS);
  record.heatAt = now;
}

/** Asked once. */
uint64_t OwnStartTime() {
  static const uint64_t startTime = ProcessStartTime(getpid());
  return startTime;
}

void ForgetDead(DeviceRecord &record) {
  const int64_t own = getpid();
  for (Process &process : record.processes) {
    const uint64_t startTime = process.pid == own ? OwnStartTime() : ProcessStartTime(process.pid);
    if (process.pid != 0 && startTime != process.startTime) process = {};
  }
}

Process *OwnProcess(DeviceRecord &record) {
  const uint64_t startTime = OwnStartTime();
  const int64_t own = getpid();
  for (Process &process : record.processes) {
    if (process.pid == own && process.startTime == startTime) return &process;
  }
  ForgetDead(record);
  for (Process &process : record.processes) {
    if (process.pid == 0) {
      process = {own, startTime, 0};
      return &process;
    }
  }
  return nullptr;
}

uint64_t Total(const DeviceRecord &record) {
  uint64_t total = 0;
  for (const Process &process : record.processes) total += process.memoryBytes;
  return total;
}

}  // namespace

struct SharedState::Layout {
  uint64_t magic;
  uint64_t size;
  DeviceRecord devices[MAX_DEVICES];
};

/** Holds this process's mutex and the file's lock; the kernel drops the latter when a process dies. */
class SharedState::Guard {
 public:
  explicit Guard(SharedState &state) : lock_(state.mutex_), file_(state.file_) {
    while (file_ >= 0 && flock(file_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  ~Guard() {
    if (file_ >= 0) flock(file_, LOCK_UN);
  }
  Guard(const Guard &) = delete;
  Guard &operator=(const Guard &) = delete;

 private:
  std::lock_guard<std::mutex> lock_;
  int file_;
};

uint64_t NowNanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

SharedState &SharedState::Instance() {
  static SharedState *instance = new SharedState();
  return *instance;
}

SharedState::SharedState() {
  const std::string path = Settings::Instance().stateDirectory() + "/simulated-npu.state";
  file_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file_ < 0) {
    problem_ = "the state of the simulated cards cannot be opened (" + path + "): " + std::strerror(errno);
    return;
  }
  const Guard guard(*this);
  struct stat info {};
  const bool fits = fstat(file_, &info) == 0 && static_cast<uint64_t>(info.st_size) == sizeof(Layout);
  if (!fits && ftruncate(file_, sizeof(Layout)) != 0) {
    problem_ = "the state of the simulated cards cannot be made (" + path + "): " + std::strerror(errno);
    return;
  }
  void *memory = mmap(nullptr, sizeof(Layout), PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
  if (memory == MAP_FAILED) {
    problem_ = "the state of the simulated cards cannot be mapped (" + path + "): " + std::strerror(errno);
    return;
  }
  layout_ = static_cast<Layout *>(memory);
  if (layout_->magic != MAGIC || layout_->size != sizeof(Layout)) {
    std::memset(memory, 0, sizeof(Layout));
    layout_->magic = MAGIC;
    layout_->size = sizeof(Layout);
  }
}

bool SharedState::ReserveMemory(int device, uint64_t bytes) {
  const Guard guard(*this);
  if (layout_ == nullptr) return false;
  DeviceRecord &record = layout_->devices[device];
  Process *own = OwnProcess(record);
  if (own == nullptr) return false;
  const Profile &profile = *Settings::Instance().devices()[static_cast<size_t>(device)].profile;
  const uint64_t room = (profile.memoryMegabytes - std::min(profile.idleMemoryMegabytes, profile.memoryMegabytes)) << 20;
  if (bytes > room) return false;
  if (Total(record) + bytes > room) ForgetDead(record);
  if (Total(record) + bytes > room) return false;
  own->memoryBytes += bytes;
  return true;
}

void SharedState::ReleaseMemory(int device, uint64_t bytes) {
  const Guard guard(*this);
  if (layout_ == nullptr) return;
  Process *own = OwnProcess(layout_->devices[device]);
  if (own == nullptr) return;
  own->memoryBytes -= std::min(own->memoryBytes, bytes);
  if (own->memoryBytes == 0) *own = {};
}

uint64_t SharedState::MemoryInUse(int device) {
  const Guard guard(*this);
  const uint64_t idle = Settings::Instance().devices()[static_cast<size_t>(device)].profile->idleMemoryMegabytes << 20;
  if (layout_ == nullptr) return idle;
  ForgetDead(layout_->devices[device]);
  return idle + Total(layout_->devices[device]);
}

std::vector<ProcessUse> SharedState::Processes(int device) {
  const Guard guard(*this);
  std::vector<ProcessUse> result;
  if (layout_ == nullptr) return result;
  ForgetDead(layout_->devices[device]);
  for (const Process &process : layout_->devices[device].processes) {
    if (process.pid != 0) result.push_back({static_cast<pid_t>(process.pid), process.memoryBytes});
  }
  return result;
}

void SharedState::RecordRun(int device, double seconds, double cubeShare, double vectorShare, double bytes) {
  const Guard guard(*this);
  if (layout_ == nullptr || seconds <= 0) return;
  DeviceRecord &record = layout_->devices[device];
  const uint64_t now = NowNanoseconds();
  Cool(record, now);
  record.heat = std::min(1.0, record.heat + cubeShare * (1 - std::exp(-seconds / HEAT_SECONDS)));
  // Laid back over the slices in which it ran.
  const uint64_t start = now - std::min(now, static_cast<uint64_t>(seconds * 1e9));
  const uint64_t oldest = now / SLICE_NANOSECONDS - std::min(now / SLICE_NANOSECONDS, KEPT_SLICES - 1);
  for (uint64_t number = std::max(start / SLICE_NANOSECONDS, oldest); number <= now / SLICE_NANOSECONDS; number++) {
    Slice &slice = record.slices[number % KEPT_SLICES];
    if (slice.number != number) slice = {number, 0, 0, 0};
    const uint64_t from = std::max(start, number * SLICE_NANOSECONDS);
    const uint64_t to = std::min(now, (number + 1) * SLICE_NANOSECONDS);
    const double part = to > from ? static_cast<double>(to - from) / 1e9 : 0;
    slice.cubeSeconds += part * cubeShare;
    slice.vectorSeconds += part * vectorShare;
    slice.bytes += bytes * part / seconds;
  }
}

DeviceLoad SharedState::Load(int device) {
  const Guard guard(*this);
  DeviceLoad load{0, 0, 0, 0};
  if (layout_ == nullptr) return load;
  DeviceRecord &record = layout_->devices[device];
  const uint64_t now = NowNanoseconds();
  Cool(record, now);
  const uint64_t newest = now / SLICE_NANOSECONDS;
  double bytes = 0;
  for (const Slice &slice : record.slices) {
    if (slice.number + WINDOW_SLICES < newest || slice.number >= newest) continue;
    load.cube += slice.cubeSeconds;
    load.vector += slice.vectorSeconds;
    bytes += slice.bytes;
  }
  const double perSecond = Settings::Instance().devices()[static_cast<size_t>(device)].profile->bytesPerMicrosecond * 1e6;
  load.cube = std::min(1.0, load.cube);
  load.vector = std::min(1.0, load.vector);
  load.bandwidth = perSecond > 0 ? std::min(1.0, bytes / perSecond) : 0;
  load.heat = std::min(1.0, record.heat);
  return load;
}

}  // namespace simulator
