#include "card.h"

#include <algorithm>
#include <thread>

#include "ascend/supervised.h"
#include "common/error.h"
#include "exec_block.h"

namespace npu_console::npu_ge {

namespace {

// How much longer than a run may take a thread of a card is waited for: calls of CANN that launch work have no limit of their own.
constexpr auto kGrace = std::chrono::seconds(2);

}  // namespace

std::shared_ptr<Card> Card::Build(const Plan& plan, int device_id) {
  std::shared_ptr<Card> card(new Card(plan, ascend::Device::Acquire(plan.library->acl, device_id)));
  const int sessions = plan.session_per_block ? plan.blocks : 1;
  for (int index = 0; index < sessions; ++index) {
    card->sessions_.push_back(std::make_unique<ascend::GeSession>(*plan.library, card->device_, plan.model, plan.session_per_block ? 1 : plan.blocks));
    const auto& graphs = card->sessions_.back()->graphs();
    // Graphs of one session share their weights (ge.constLifecycle); each has a workspace of its own.
    card->facts_.weight_bytes += graphs.front()->summary().weight_bytes;
    for (const auto& graph : graphs) card->facts_.workspace_bytes += graph->summary().workspace_bytes;
    card->facts_.is_static = graphs.front()->summary().is_static;
    card->facts_.outputs = graphs.front()->outputs();
  }
  return card;
}

void Card::Begin() {
  const std::lock_guard lock(threads_->mutex);
  for (const auto& session : sessions_) {
    for (const auto& graph : session->graphs()) {
      ++threads_->count;
      // Before its thread runs, which on a busy machine can take longer than the first requests: the others would take its jobs after their own.
      BecomeIdle();
      // Detached, since one that hangs with the card cannot be waited for; it keeps the card alive.
      std::thread([card = shared_from_this(), &graph = *graph, threads = threads_]() mutable {
        // Dynamic graphs compile operators while they run, and write beside it.
        ascend::EnterPrivateDirectory(card->plan_.work_directory);
        ExecBlock(*card, graph).Serve();
        card.reset();
        const std::lock_guard ending(threads->mutex);
        --threads->count;
        threads->ended.notify_all();
      }).detach();
    }
  }
}

void Card::Promise(double cost) {
  const std::lock_guard lock(mutex_);
  outstanding_ += cost;
}

void Card::Unpromise(double cost) {
  const std::lock_guard lock(mutex_);
  outstanding_ = std::max(0.0, outstanding_ - cost);
}

double Card::outstanding() const {
  const std::lock_guard lock(mutex_);
  return outstanding_;
}

bool Card::NoticeReset() {
  if (was_reset_) return true;
  if (device_->is_faulty() || !device_->WasReset()) return false;
  was_reset_ = true;
  const std::string reason = "Device " + std::to_string(device_->id()) + " was reset by another model of this process after a fault: the model is loaded there again";
  device_->ReportFault(reason);
  Fail(reason);
  return true;
}

bool Card::is_healthy() const {
  const std::lock_guard lock(mutex_);
  return !is_failed_ && !is_stopping_ && !device_->is_faulty();
}

std::string Card::fault() const {
  const std::lock_guard lock(mutex_);
  return !fault_.empty() ? fault_ : device_->fault();
}

void Card::Submit(std::shared_ptr<Job> job) {
  std::string refusal;
  {
    const std::lock_guard lock(mutex_);
    if (!is_failed_ && !is_stopping_) {
      queue_.push_back(std::move(job));
      changed_.notify_one();
      return;
    }
    refusal = is_failed_ ? fault_ : "the model is being unloaded";
  }
  Finish(*job, Failure::OfDevice(refusal));
}

void Card::Finish(Job& job, std::optional<Failure> failure) {
  {
    const std::lock_guard lock(job.mutex);
    if (job.is_done) return;
    job.is_done = true;
    job.failure = std::move(failure);
    job.changed.notify_all();
  }
  Unpromise(job.cost);
}

void Card::Wait(const std::shared_ptr<Job>& job) {
  const auto limit = plan_.execution_timeout + kGrace;
  std::unique_lock lock(job->mutex);
  while (!job->is_done) {
    if (!job->is_started) {
      // In the queue: those before it have limits, and a card that fails fails the queue.
      job->changed.wait_for(lock, limit);
      continue;
    }
    const Clock::time_point end = job->touched + limit;
    if (job->changed.wait_until(lock, end) == std::cv_status::timeout && !job->is_done && Clock::now() >= job->touched + limit) {
      lock.unlock();
      const std::string reason = "Device " + std::to_string(device_->id()) + " does not answer: a call to run the graph did not return within " +
                                 std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(limit).count()) +
                                 " ms (execution_timeout_ms). Look at npu-smi info; the model starts again when the card answers";
      device_->ReportFault(reason);
      Fail(reason);
      Finish(*job, Failure::OfDevice(reason));
      lock.lock();
    }
  }
  if (job->failure) job->failure->Throw();
}

void Card::Fail(const std::string& reason) {
  std::deque<std::shared_ptr<Job>> waiting;
  {
    const std::lock_guard lock(mutex_);
    if (!is_failed_) fault_ = reason;
    is_failed_ = true;
    waiting.swap(queue_);
    changed_.notify_all();
  }
  for (const std::shared_ptr<Job>& job : waiting) Finish(*job, Failure::OfDevice(reason));
}

void Card::Stop(std::chrono::milliseconds limit) {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    changed_.notify_all();
  }
  bool all_ended = false;
  {
    std::unique_lock lock(threads_->mutex);
    all_ended = threads_->ended.wait_for(lock, limit, [&] { return threads_->count == 0; });
  }
  Fail("the model is being unloaded");
  if (!all_ended) {
    device_->ReportFault("a run on device " + std::to_string(device_->id()) + " did not end while its model was unloaded");
    return;
  }
  try {
    ascend::RunSupervised("letting go of device " + std::to_string(device_->id()), limit, [card = shared_from_this()] { card->sessions_.clear(); });
  } catch (const ascend::Error& error) {
    device_->ReportFault(error.what());
    KIT_LOG(ERROR, error.what());
  }
}

bool Card::HasQueue() const {
  const std::lock_guard lock(mutex_);
  return queue_.size() > idle_;
}

void Card::BecomeIdle() {
  const std::lock_guard lock(mutex_);
  ++idle_;
}

std::shared_ptr<Job> Card::WaitForJob() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !queue_.empty() || is_stopping_ || is_failed_; });
  --idle_;
  return TakeJob();
}

std::shared_ptr<Job> Card::NextJob() {
  const std::lock_guard lock(mutex_);
  // They are on their way to it: on streams of their own it runs beside this one's, not after it.
  return queue_.size() <= idle_ ? nullptr : TakeJob();
}

// With the mutex held.
std::shared_ptr<Job> Card::TakeJob() {
  // What waits when the model is unloaded is still run; nothing of it is there in an orderly unload.
  if (queue_.empty() || is_failed_) return nullptr;
  std::shared_ptr<Job> job = std::move(queue_.front());
  queue_.pop_front();
  return job;
}

}  // namespace npu_console::npu_ge
