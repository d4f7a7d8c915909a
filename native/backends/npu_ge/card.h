// A model on one card: its sessions, a thread for each of its exec blocks (exec_block.h), and the queue of runs that wait for one of them.
//
// Life: Build (slow, may hang with the card: supervised by the caller), Begin (threads start), Submit..., Stop. A card that fails fails what waits and what runs with
// the cause and takes nothing more: the scheduler builds a new one. The threads hold the card, so one that hangs in a call keeps what it may still touch alive.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "ascend/device.h"
#include "ascend/ge_session.h"
#include "job.h"

namespace npu_console::npu_ge {

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

  // Whether another user of this process has reset the card, which ends all that is here: it has failed then. Makes the device current on the calling thread.
  bool NoticeReset();
  bool was_reset() const { return was_reset_; }

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

  // What its exec blocks ask of it. WaitForJob is for a block that has said that it is idle, and gives none when the block has to end; NextJob is for one that has a job,
  // and gives none where an idle block is on its way to what waits.
  friend class ExecBlock;
  void BecomeIdle();
  std::shared_ptr<Job> WaitForJob();
  std::shared_ptr<Job> NextJob();
  std::shared_ptr<Job> TakeJob();
  // Whether more runs wait than there are idle blocks on their way to them.
  bool HasQueue() const;
  void Finish(Job& job, std::optional<Failure> failure);
  std::chrono::milliseconds execution_timeout() const { return plan_.execution_timeout; }

  const Plan plan_;
  const std::shared_ptr<ascend::Device> device_;
  std::vector<std::unique_ptr<ascend::GeSession>> sessions_;
  Facts facts_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Job>> queue_;
  bool is_stopping_ = false;
  bool is_failed_ = false;
  std::atomic<bool> was_reset_{false};
  std::string fault_;
  double outstanding_ = 0;
  std::size_t idle_ = 0;  // exec blocks that have no job: they wait for one, or are on their way to it

  // The threads that hold the card. It is theirs as well, so that one has let go of the card before it counts as ended: whoever waits for that resets the device and
  // ends GE afterwards.
  struct Threads {
    std::mutex mutex;
    std::condition_variable ended;
    int count = 0;
  };
  const std::shared_ptr<Threads> threads_ = std::make_shared<Threads>();
};

}  // namespace npu_console::npu_ge
