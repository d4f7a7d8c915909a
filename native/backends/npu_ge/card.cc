#include "card.h"

#include <algorithm>
#include <thread>

#include "ascend/supervised.h"
#include "common/error.h"

namespace npu_console::npu_ge {

namespace {

using ascend::ErrorKind;
using ascend::FaultScope;

// How much longer than a run may take a thread of a card is waited for: calls of CANN that launch work have no limit of their own.
constexpr auto kGrace = std::chrono::seconds(2);

NpuGeTensor ToGe(void* data, std::uint64_t byte_size, std::int32_t type, const std::vector<std::int64_t>& dims) {
  if (dims.size() > NPU_GE_MAX_RANK) throw ascend::Error(ErrorKind::InvalidArgument, "a tensor has " + std::to_string(dims.size()) + " dimensions, and GE takes 25 at most");
  NpuGeTensor tensor{data, byte_size, type, static_cast<std::uint32_t>(dims.size()), {}};
  std::copy(dims.begin(), dims.end(), tensor.dims);
  return tensor;
}

}  // namespace

std::uint64_t ByteSize(std::int32_t ge_type, const std::vector<std::int64_t>& dims) {
  std::uint64_t size = 0;
  switch (ge_type) {
    case 2: case 4: case 12: size = 1; break;
    case 1: case 6: case 7: case 27: size = 2; break;
    case 0: case 3: case 8: size = 4; break;
    case 9: case 10: case 11: size = 8; break;
    default: throw ascend::Error(ErrorKind::Unsupported, "a tensor has type " + std::to_string(ge_type) + " of GE, which cannot be passed on");
  }
  for (const std::int64_t dim : dims) {
    if (dim < 0 || __builtin_mul_overflow(size, static_cast<std::uint64_t>(dim), &size)) {
      throw ascend::Error(ErrorKind::InvalidArgument, "a tensor has a size that no memory holds");
    }
  }
  return size;
}

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
      // Detached, since one that hangs with the card cannot be waited for; it keeps the card alive.
      std::thread([card = shared_from_this(), &graph = *graph, threads = threads_]() mutable {
        card->Work(graph);
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
  Finish(*job, std::make_exception_ptr(ascend::Error(ErrorKind::Unavailable, refusal, 0, FaultScope::Device)));
}

void Card::Finish(Job& job, std::exception_ptr failure) {
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
      Finish(*job, std::make_exception_ptr(ascend::Error(ErrorKind::Unavailable, reason, 0, FaultScope::Device)));
      lock.lock();
    }
  }
  if (job->failure) std::rethrow_exception(job->failure);
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
  for (const std::shared_ptr<Job>& job : waiting) Finish(*job, std::make_exception_ptr(ascend::Error(ErrorKind::Unavailable, reason, 0, FaultScope::Device)));
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

std::shared_ptr<Job> Card::NextJob(bool waits) {
  std::unique_lock lock(mutex_);
  if (waits) {
    ++idle_;
    changed_.wait(lock, [&] { return !queue_.empty() || is_stopping_ || is_failed_; });
    --idle_;
  } else if (queue_.size() <= idle_) {
    // They are on their way to it: on streams of their own it runs beside this one's, not after it.
    return nullptr;
  }
  // What waits when the model is unloaded is still run; nothing of it is there in an orderly unload.
  if (queue_.empty() || is_failed_) return nullptr;
  std::shared_ptr<Job> job = std::move(queue_.front());
  queue_.pop_front();
  return job;
}

// The work of one thread on its graph.
class Card::Block {
 public:
  Block(Card& card, ascend::GeGraph& graph) : card_(card), graph_(graph) {}

  // One run by itself: everything on the graph's stream, waited for once.
  void RunAlone(const std::shared_ptr<Job>& job) {
    Flight flight(job);
    Attempt(flight, [&] {
      CopyIn(flight, graph_.stream());
      Launch(flight);
      CopyBack(flight, graph_.stream());
      Synchronize(flight, graph_.stream());
      job->run_end = Clock::now();
    });
    End(flight);
  }

  // As long as more runs wait: the inputs of the next are copied while this one runs, and the outputs of this one while the next runs. Each stream carries one
  // run at a time, so that an error that a stream reports belongs to that run.
  void RunInTurn(std::shared_ptr<Job> job) {
    if (copy_in_ == nullptr) {
      copy_in_ = std::make_unique<ascend::Stream>(card_.device_);
      copy_back_ = std::make_unique<ascend::Stream>(card_.device_);
    }
    Flight current(std::move(job));
    Stage(current);
    Start(current);
    while (current.job != nullptr) {
      Flight next(card_.NextJob(false));
      if (next.job != nullptr) Stage(next);
      Attempt(current, [&] {
        Synchronize(current, graph_.stream());
        current.job->run_end = Clock::now();
      });
      const auto fetch = [&] {
        Attempt(current, [&] {
          CopyBack(current, *copy_back_);
          Synchronize(current, *copy_back_);
        });
      };
      // GE gives its own outputs the same memory in every run: they are fetched before the next one begins.
      const bool is_ges_memory = !current.job->outputs_known;
      if (is_ges_memory) fetch();
      if (next.job != nullptr) Start(next);
      if (!is_ges_memory) fetch();
      End(current);
      current = std::move(next);
    }
  }

  bool must_end() const { return must_end_; }

 private:
  struct Flight {
    explicit Flight(std::shared_ptr<Job> of) : job(std::move(of)) {}
    std::shared_ptr<Job> job;
    std::vector<ascend::Buffer> inputs, outputs;
    std::vector<NpuGeTensor> results;
    std::exception_ptr failure;
  };

  void Touch(Flight& flight) {
    const std::lock_guard lock(flight.job->mutex);
    flight.job->is_started = true;
    flight.job->touched = Clock::now();
  }

  // A step of a run, unless an earlier one went wrong. What it throws is the end of the run, and where stream or card are lost that of this thread.
  template <class Step>
  void Attempt(Flight& flight, Step step) {
    if (flight.failure) return;
    try {
      Touch(flight);
      step();
    } catch (const ascend::Error& error) {
      flight.failure = std::current_exception();
      if (error.scope() == FaultScope::Call && !card_.device_->is_faulty()) return;
      must_end_ = true;
      graph_.stream().GiveUp();
      card_.Fail(error.what());
    } catch (...) {
      flight.failure = std::current_exception();
    }
  }

  void Stage(Flight& flight) {
    Attempt(flight, [&] { CopyIn(flight, *copy_in_); });
  }
  void Start(Flight& flight) {
    Attempt(flight, [&] {
      Synchronize(flight, *copy_in_);
      Launch(flight);
    });
  }

  void CopyIn(Flight& flight, ascend::Stream& stream) {
    card_.device_->Use();
    for (const JobInput& input : flight.job->inputs) {
      ascend::Buffer& buffer = flight.inputs.emplace_back(card_.device_->device_memory().Take(std::max<std::uint64_t>(1, input.byte_size)));
      stream.CopyToDevice(buffer.data(), buffer.capacity(), input.pinned.data(), input.byte_size);
    }
  }

  void Launch(Flight& flight) {
    Job& job = *flight.job;
    std::vector<NpuGeTensor> inputs;
    for (std::size_t index = 0; index < job.inputs.size(); ++index) {
      const JobInput& input = job.inputs[index];
      inputs.push_back(ToGe(flight.inputs[index].data(), input.byte_size, input.type, input.dims));
    }
    if (job.outputs_known) {
      for (const JobOutput& output : job.outputs) {
        ascend::Buffer& buffer = flight.outputs.emplace_back(card_.device_->device_memory().Take(std::max<std::uint64_t>(1, output.byte_size)));
        flight.results.push_back(ToGe(buffer.data(), output.byte_size, output.type, output.dims));
      }
    }
    job.run_start = Clock::now();
    graph_.Execute(inputs, flight.results);
    if (flight.results.size() != job.outputs.size()) {
      throw ascend::Error(ErrorKind::Internal, "the graph gave " + std::to_string(flight.results.size()) + " outputs, and the model has " + std::to_string(job.outputs.size()));
    }
  }

  void CopyBack(Flight& flight, ascend::Stream& stream) {
    card_.device_->Use();
    for (std::size_t index = 0; index < flight.results.size(); ++index) {
      JobOutput& output = flight.job->outputs[index];
      const NpuGeTensor& result = flight.results[index];
      const std::vector<std::int64_t> dims(result.dims, result.dims + result.rank);
      const std::uint64_t byte_size = ByteSize(output.type, dims);
      // What the run wrote beyond the memory it was given has hit something else.
      if (flight.job->outputs_known && byte_size > flight.outputs[index].capacity()) {
        throw ascend::Error(ErrorKind::Internal, "output " + std::to_string(index) + " of the graph is " + std::to_string(byte_size) + " bytes, and " +
                                                     std::to_string(flight.outputs[index].capacity()) +
                                                     " were expected from the names of its dimensions in the ONNX file: rename them there, or leave them unnamed");
      }
      output.dims = dims;
      output.byte_size = byte_size;
      output.pinned = card_.device_->pinned_memory().Take(std::max<std::uint64_t>(1, byte_size));
      stream.CopyToHost(output.pinned.data(), output.pinned.capacity(), result.data, byte_size);
    }
  }

  void Synchronize(Flight& flight, ascend::Stream& stream) {
    Touch(flight);
    card_.device_->Use();
    stream.Synchronize(card_.plan_.execution_timeout);
  }

  void End(Flight& flight) {
    if (flight.failure) {
      // What a run that went wrong has launched may still use its memory, as long as its streams are not empty.
      for (ascend::Stream* stream : {&graph_.stream(), copy_in_.get(), copy_back_.get()}) {
        if (stream == nullptr || must_end_) continue;
        try {
          card_.device_->Use();
          stream->Synchronize(card_.plan_.execution_timeout);
        } catch (const ascend::Error& error) {
          if (error.scope() == FaultScope::Call) continue;
          must_end_ = true;
          card_.Fail(error.what());
        }
      }
    }
    if (must_end_) {
      for (ascend::Stream* stream : {copy_in_.get(), copy_back_.get()}) {
        if (stream != nullptr) stream->GiveUp();
      }
    }
    const std::shared_ptr<Job> job = std::move(flight.job);
    const std::exception_ptr failure = std::move(flight.failure);
    flight = Flight(nullptr);
    card_.Finish(*job, failure);
  }

  Card& card_;
  ascend::GeGraph& graph_;
  std::unique_ptr<ascend::Stream> copy_in_, copy_back_;
  bool must_end_ = false;
};

void Card::Work(ascend::GeGraph& graph) {
  // Dynamic graphs compile operators while they run, and write beside it.
  ascend::EnterPrivateDirectory(plan_.work_directory);
  {
    Block block(*this, graph);
    while (!block.must_end()) {
      std::shared_ptr<Job> job = NextJob(true);
      if (job == nullptr) break;
      bool others_wait = false;
      {
        const std::lock_guard lock(mutex_);
        others_wait = queue_.size() > idle_;
      }
      if (others_wait) {
        try {
          block.RunInTurn(job);
        } catch (...) {
          // No streams for the copies: the job was not begun.
          Finish(*job, std::current_exception());
        }
      } else {
        block.RunAlone(job);
      }
    }
    device_->TryUse();
  }
}

}  // namespace npu_console::npu_ge
