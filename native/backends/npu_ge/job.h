// One run of a graph on a card, as it goes from the instance that wants it to the exec block that does it, and back.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "ascend/buffer_pool.h"
#include "ascend/device.h"
#include "ascend/error.h"

namespace npu_console::npu_ge {

using Clock = std::chrono::steady_clock;

// What a run ended with. By value: it is read by another thread than the one it happened on, and an exception that both hold is let go of by whichever is last.
struct Failure {
  explicit Failure(const ascend::Error& error) : kind(error.kind()), text(error.what()), code(error.code()), scope(error.scope()) {}
  // That of whatever is being handled now. Call it in a catch block.
  static Failure Current();
  // That of a card which is of no use.
  static Failure OfDevice(const std::string& reason) { return Failure(ascend::Error(ascend::ErrorKind::Unavailable, reason, 0, ascend::FaultScope::Device)); }

  // @throws ascend::Error that says the same
  [[noreturn]] void Throw() const { throw ascend::Error(kind, text, code, scope); }

  ascend::ErrorKind kind;
  std::string text;
  int code;
  ascend::FaultScope scope;
};

struct JobInput {
  ascend::Buffer pinned;
  std::uint64_t byte_size = 0;
  std::int32_t type = 0;
  std::vector<std::int64_t> dims;
};

struct JobOutput {
  std::int32_t type = 0;
  // Before the run: what is expected, so that memory can be made. After it: what it is.
  std::vector<std::int64_t> dims;
  std::uint64_t byte_size = 0;
  ascend::Buffer pinned;
};

// Filled by the one who submits it, who also waits for its end and reads the outputs.
struct Job {
  explicit Job(std::shared_ptr<ascend::Device> on) : device(std::move(on)) {}

  const std::shared_ptr<ascend::Device> device;  // owns the pools of the buffers below, so it goes last
  std::vector<JobInput> inputs;
  // With the expected shapes; unless those are known, only types and number count, and GE gives the outputs memory.
  std::vector<JobOutput> outputs;
  bool outputs_known = false;
  double cost = 1;  // expected microseconds on the card

  std::mutex mutex;
  std::condition_variable changed;
  bool is_started = false;
  bool is_done = false;
  std::optional<Failure> failure;
  Clock::time_point touched{};  // the last step of the run that began; guarded by mutex
  Clock::time_point run_start{}, run_end{};
};

// Bytes of a tensor of a type that a card takes.
std::uint64_t ByteSize(std::int32_t ge_type, const std::vector<std::int64_t>& dims);

}  // namespace npu_console::npu_ge
