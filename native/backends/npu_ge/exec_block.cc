#include "exec_block.h"

#include <algorithm>
#include <string>
#include <utility>

namespace npu_console::npu_ge {

namespace {

using ascend::ErrorKind;
using ascend::FaultScope;

NpuGeTensor ToGe(void* data, std::uint64_t byte_size, std::int32_t type, const std::vector<std::int64_t>& dims) {
  if (dims.size() > NPU_GE_MAX_RANK) throw ascend::Error(ErrorKind::InvalidArgument, "a tensor has " + std::to_string(dims.size()) + " dimensions, and GE takes 25 at most");
  NpuGeTensor tensor{data, byte_size, type, static_cast<std::uint32_t>(dims.size()), {}};
  std::copy(dims.begin(), dims.end(), tensor.dims);
  return tensor;
}

}  // namespace

void ExecBlock::Serve() {
  while (!must_end_) {
    std::shared_ptr<Job> job = card_.WaitForJob();
    if (job == nullptr) return;
    if (card_.NoticeReset()) {
      // The job was not begun: whoever sent it sends it again, to the card that is built in this one's place.
      card_.Finish(*job, Failure::OfDevice(card_.fault()));
      return;
    }
    if (!card_.HasQueue()) {
      RunAlone(std::move(job));
      continue;
    }
    try {
      if (copy_in_ == nullptr) copy_in_ = std::make_unique<ascend::Stream>(card_.device());
      if (copy_back_ == nullptr) copy_back_ = std::make_unique<ascend::Stream>(card_.device());
    } catch (const std::exception&) {
      // No streams for the copies: the job was not begun.
      card_.BecomeIdle();
      card_.Finish(*job, Failure::Current());
      continue;
    }
    RunInTurn(std::move(job));
  }
}

// One run by itself: everything on the graph's stream, waited for once.
void ExecBlock::RunAlone(std::shared_ptr<Job> job) {
  Flight flight(std::move(job));
  Attempt(flight, [&] {
    CopyIn(flight, graph_.stream());
    Launch(flight);
    CopyBack(flight, graph_.stream());
    Synchronize(flight, graph_.stream());
    flight.job->run_end = Clock::now();
  });
  End(flight, true);
}

// As long as more runs wait: the inputs of the next are copied while this one runs, and the outputs of this one while the next runs.
void ExecBlock::RunInTurn(std::shared_ptr<Job> job) {
  Flight current(std::move(job));
  Stage(current);
  Start(current);
  while (current.job != nullptr) {
    Flight next(card_.NextJob());
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
    End(current, next.job == nullptr);
    current = std::move(next);
  }
}

// A step of a run, unless an earlier one went wrong. What it throws is the end of the run.
template <class Step>
void ExecBlock::Attempt(Flight& flight, Step step) {
  if (flight.failure) return;
  try {
    Touch(flight);
    step();
    return;
  } catch (const std::exception&) {
    flight.failure = Failure::Current();
  }
  Settle(flight);
}

// After an error the run may still go on, and its memory is in use: a call that waits can fail without having waited. It is waited for here, or broken off, before
// another run comes onto these streams. Where neither is possible the card counts as faulty, and its pools lend nothing again until it was reset.
void ExecBlock::Settle(Flight& flight) {
  bool is_lost = flight.failure->scope != FaultScope::Call || card_.device()->is_faulty();
  // Before the waiting: nothing more is to come here.
  if (is_lost) card_.Fail(flight.failure->text);
  for (ascend::Stream* stream : std::exchange(flight.busy, {})) {
    Touch(flight);
    if (!stream->Settle(card_.execution_timeout())) is_lost = true;
  }
  if (!is_lost) return;
  must_end_ = true;
  card_.Fail(flight.failure->text);
}

// @param is_last whether the block has no other job
void ExecBlock::End(Flight& flight, bool is_last) {
  const std::shared_ptr<Job> job = std::move(flight.job);
  std::optional<Failure> failure = std::move(flight.failure);
  flight = Flight(nullptr);
  // Before anyone is told, who may send the next ones at once.
  if (is_last) card_.BecomeIdle();
  card_.Finish(*job, std::move(failure));
}

void ExecBlock::Touch(Flight& flight) {
  const std::lock_guard lock(flight.job->mutex);
  flight.job->is_started = true;
  flight.job->touched = Clock::now();
}

void ExecBlock::Stage(Flight& flight) {
  Attempt(flight, [&] { CopyIn(flight, *copy_in_); });
}

void ExecBlock::Start(Flight& flight) {
  Attempt(flight, [&] {
    Synchronize(flight, *copy_in_);
    Launch(flight);
  });
}

// Before anything is launched there: from here on the stream may touch the run's memory.
void ExecBlock::Occupy(Flight& flight, ascend::Stream& stream) {
  if (stream.is_given_up()) throw ascend::Error(ErrorKind::Unavailable, card_.fault(), 0, FaultScope::Stream);
  card_.device()->Use();
  if (std::find(flight.busy.begin(), flight.busy.end(), &stream) == flight.busy.end()) flight.busy.push_back(&stream);
}

void ExecBlock::CopyIn(Flight& flight, ascend::Stream& stream) {
  Occupy(flight, stream);
  for (const JobInput& input : flight.job->inputs) {
    ascend::Buffer& buffer = flight.inputs.emplace_back(card_.device()->device_memory().Take(std::max<std::uint64_t>(1, input.byte_size)));
    stream.CopyToDevice(buffer.data(), buffer.capacity(), input.pinned.data(), input.byte_size);
  }
}

void ExecBlock::Launch(Flight& flight) {
  Job& job = *flight.job;
  std::vector<NpuGeTensor> inputs;
  for (std::size_t index = 0; index < job.inputs.size(); ++index) {
    const JobInput& input = job.inputs[index];
    inputs.push_back(ToGe(flight.inputs[index].data(), input.byte_size, input.type, input.dims));
  }
  if (job.outputs_known) {
    for (const JobOutput& output : job.outputs) {
      ascend::Buffer& buffer = flight.outputs.emplace_back(card_.device()->device_memory().Take(std::max<std::uint64_t>(1, output.byte_size)));
      flight.results.push_back(ToGe(buffer.data(), output.byte_size, output.type, output.dims));
    }
  }
  Occupy(flight, graph_.stream());
  job.run_start = Clock::now();
  graph_.Execute(inputs, flight.results);
  if (flight.results.size() != job.outputs.size()) {
    throw ascend::Error(ErrorKind::Internal, "the graph gave " + std::to_string(flight.results.size()) + " outputs, and the model has " + std::to_string(job.outputs.size()));
  }
}

void ExecBlock::CopyBack(Flight& flight, ascend::Stream& stream) {
  Occupy(flight, stream);
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
    output.pinned = card_.device()->pinned_memory().Take(std::max<std::uint64_t>(1, byte_size));
    stream.CopyToHost(output.pinned.data(), output.pinned.capacity(), result.data, byte_size);
  }
}

void ExecBlock::Synchronize(Flight& flight, ascend::Stream& stream) {
  Touch(flight);
  card_.device()->Use();
  stream.Synchronize(card_.execution_timeout());
  flight.busy.erase(std::remove(flight.busy.begin(), flight.busy.end(), &stream), flight.busy.end());
}

}  // namespace npu_console::npu_ge
