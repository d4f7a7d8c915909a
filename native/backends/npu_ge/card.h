// A model on one card: its sessions, a thread for each of its streams (an exec block), and the queue of runs that wait for one of them.
//
// Life: Build (slow, may hang with the card: supervised by the caller), Begin (threads start), Submit..., Stop. A card that fails fails what waits and what runs with
// the cause and takes nothing more: the scheduler builds a new one. The threads hold the card, so one that hangs in a call keeps what it may still touch alive.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "ascend/buffer_pool.h"
#include "ascend/device.h"
#include "ascend/ge_session.h"

namespace npu_console::npu_ge {

using Clock = std::chrono::steady_clock;

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

// One run of the graph. Filled by the one who submits it, who also waits for its end and reads the outputs.
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
  std::exception_ptr failure;
  Clock::time_point touched{};  // the last step of the run that began; guarded by mutex
  Clock::time_point run_start{}, run_end{};
};

class Card : public std::enable_shared_from_this<Card> {
 public:
  struct Plan {
    const ascend::GeLibrary* library = nullptr;
    ascend::GePlan model;
    int blocks = 1;
    bool session_per_block = false;
    std::chrono::milliseconds execution_timeout{};
    std::string work_directory;
  };
  struct Facts {
    bool is_static = false;
    std::uint64_t weight_bytes = 0;     // of all its sessions
    std::uint64_t workspace_bytes = 0;  // of all its graphs
    std::vector<NpuGeTensor> outputs;   // of the graph; -1: open
  };

  // Compiles and loads. @throws ascend::Error
  static std::shared_ptr<Card> Build(const Plan& plan, int device);

  void Begin();
  // Takes a job made for this card's device, whose cost was promised; it is failed at once where the card has failed.
  void Submit(std::shared_ptr<Job> job);
  // Waits for the job's end; a thread of the card that hangs is given up after the time that a run may take. @throws what the run ended with
  void Wait(const std::shared_ptr<Job>& job);

  // Work promised to this card and not done, in expected microseconds. A promise ends with its job, or by hand where no job comes of it.
  void Promise(double cost);
  void Unpromise(double cost);
  double outstanding() const;

  bool is_healthy() const;
  std::string fault() const;
  void Fail(const std::string& reason);
  // Ends the threads and lets go of the card. Never longer than about the limit.
  void Stop(std::chrono::milliseconds limit);

  const std::shared_ptr<ascend::Device>& device() const { return device_; }
  const Facts& facts() const { return facts_; }
  int blocks() const { return plan_.blocks; }

 private:
  Card(const Plan& plan, std::shared_ptr<ascend::Device> device) : plan_(plan), device_(std::move(device)) {}

  class Block;
  void Work(ascend::GeGraph& graph);
  std::shared_ptr<Job> NextJob(bool waits);
  void Finish(Job& job, std::exception_ptr failure);

  const Plan plan_;
  const std::shared_ptr<ascend::Device> device_;
  std::vector<std::unique_ptr<ascend::GeSession>> sessions_;
  Facts facts_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Job>> queue_;
  bool is_stopping_ = false;
  bool is_failed_ = false;
  std::string fault_;
  double outstanding_ = 0;
  std::size_t idle_ = 0;  // threads that wait for a job, or have been woken for one and not come to it

  // The threads that hold the card. It is theirs as well, so that one has let go of the card before it counts as ended: whoever waits for that resets the device and
  // ends GE afterwards.
  struct Threads {
    std::mutex mutex;
    std::condition_variable ended;
    int count = 0;
  };
  const std::shared_ptr<Threads> threads_ = std::make_shared<Threads>();
};

// Bytes of a tensor of a type that a card takes.
std::uint64_t ByteSize(std::int32_t ge_type, const std::vector<std::int64_t>& dims);

}  // namespace npu_console::npu_ge
