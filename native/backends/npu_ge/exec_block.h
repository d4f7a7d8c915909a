// One stream of a card with its copy of the graph (an exec block), and the thread that runs jobs on it.
//
// A run's memory is given back, and its end told, only when none of its streams can touch that memory any more. A stream carries one run at a time, so an error
// that it reports belongs to that run.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "ascend/ge_session.h"
#include "card.h"
#include "job.h"

namespace npu_console::npu_ge {

class ExecBlock {
 public:
  ExecBlock(Card& card, ascend::GeGraph& graph) : card_(card), graph_(graph) {}

  // Runs what the card gives it, until the card stops or a stream of the block is lost, with which the card has failed.
  void Serve();

 private:
  // A job while it is here.
  struct Flight {
    explicit Flight(std::shared_ptr<Job> of) : job(std::move(of)) {}
    std::shared_ptr<Job> job;
    std::vector<ascend::Buffer> inputs, outputs;
    std::vector<NpuGeTensor> results;
    std::vector<ascend::Stream*> busy;  // may still work for it
    std::optional<Failure> failure;
  };

  void RunAlone(std::shared_ptr<Job> job);
  void RunInTurn(std::shared_ptr<Job> job);

  template <class Step>
  void Attempt(Flight& flight, Step step);
  void Settle(Flight& flight);
  void End(Flight& flight, bool is_last);

  void Stage(Flight& flight);
  void Start(Flight& flight);
  void CopyIn(Flight& flight, ascend::Stream& stream);
  void Launch(Flight& flight);
  void CopyBack(Flight& flight, ascend::Stream& stream);
  void Synchronize(Flight& flight, ascend::Stream& stream);
  void Occupy(Flight& flight, ascend::Stream& stream);
  static void Touch(Flight& flight);

  Card& card_;
  ascend::GeGraph& graph_;
  std::unique_ptr<ascend::Stream> copy_in_, copy_back_;
  bool must_end_ = false;
};

}  // namespace npu_console::npu_ge
