// A card of npu_ge by itself, over a simulated one: what becomes of runs that fail, and of their memory. The order of runs is fixed: they wait before the card begins.
#include <chrono>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "ascend/ge_engine.h"
#include "card.h"
#include "check.h"
#include "test/fixture.h"

using namespace npu_console::npu_ge;
namespace ascend = npu_console::ascend;

namespace {

constexpr std::int32_t FP32 = 0;

void UseFaults(const std::string& faults) { fixture::UseCards({"910B3"}, faults); }

std::vector<float> Row(float first) { return {first, first + 1, -first, 2}; }
std::vector<float> Expected(float first) { return fixture::Reference(fixture::LinearModel(1), Row(first), {1, 4}); }

// One exec block with a static graph of one row.
class OneBlock {
 public:
  OneBlock() {
    UseFaults("");
    const std::string file = fixture::Directory() + "/linear.onnx";
    fixture::WriteFile(file, fixture::LinearModel(1));
    Card::Plan plan;
    plan.library = &ascend::GeLibrary::Load(TEST_LIBRARY_DIR, PRODUCT_BACKENDS "/npu_ge");
    plan.execution_timeout = std::chrono::seconds(60);
    plan.work_directory = fixture::Directory() + "/work";
    plan.model.name = "model 'linear'";
    plan.model.file = file;
    lease_ = ascend::GeEngine::Instance().Start(*plan.library, "linear", {}, plan.work_directory);
    card_ = Card::Build(plan, 0);
  }
  ~OneBlock() {
    UseFaults("");
    card_->Stop(std::chrono::seconds(60));
  }

  Card& card() { return *card_; }

  std::shared_ptr<Job> Submit(float first) {
    auto job = std::make_shared<Job>(card_->device());
    JobInput& input = job->inputs.emplace_back();
    input.type = FP32;
    input.dims = {1, 4};
    input.byte_size = 16;
    input.pinned = card_->device()->pinned_memory().Take(input.byte_size);
    std::memcpy(input.pinned.data(), Row(first).data(), input.byte_size);
    JobOutput& output = job->outputs.emplace_back();
    output.type = FP32;
    output.dims = {1, 3};
    output.byte_size = 12;
    job->outputs_known = true;
    card_->Submit(job);
    return job;
  }
  // The numbers, or what the run was failed with.
  std::vector<float> Take(const std::shared_ptr<Job>& job) {
    card_->Wait(job);
    std::vector<float> numbers(3);
    std::memcpy(numbers.data(), job->outputs[0].pinned.data(), 12);
    return numbers;
  }
  std::string Said(const std::shared_ptr<Job>& job) {
    try {
      card_->Wait(job);
    } catch (const ascend::Error& error) {
      return error.what();
    }
    return "";
  }

 private:
  std::shared_ptr<ascend::GeEngine::Lease> lease_;
  std::shared_ptr<Card> card_;
};

}  // namespace

TEST(ExecBlock, runs_in_turn_with_the_right_numbers) {
  OneBlock block;
  std::vector<std::shared_ptr<Job>> jobs;
  for (int number = 0; number < 5; number++) jobs.push_back(block.Submit(static_cast<float>(number)));
  block.card().Begin();
  for (int number = 0; number < 5; number++) EXPECT_EQ(block.Take(jobs[static_cast<std::size_t>(number)]), Expected(static_cast<float>(number)));
}

TEST(ExecBlock, each_of_two_runs_that_fail_in_turn_gets_its_own_error) {
  OneBlock block;
  const auto first = block.Submit(1), second = block.Submit(2), third = block.Submit(3);
  // The copy back of the first fails while the second runs, and fails too.
  UseFaults(R"({"kind":"out-of-memory","phase":"copy-out","count":1}, {"kind":"out-of-memory","phase":"run","after":1,"count":1})");
  block.card().Begin();
  EXPECT_CONTAINS(block.Said(first), "207018");
  EXPECT_CONTAINS(block.Said(second), "207018");
  EXPECT_EQ(block.Take(third), Expected(3));
  EXPECT(block.card().is_healthy());
}

TEST(ExecBlock, memory_of_a_failed_run_is_lent_again_only_when_nothing_touches_it) {
  OneBlock block;
  const auto job = block.Submit(1);
  // The wait fails at once and says nothing about the copy, which hangs.
  UseFaults(R"({"kind":"hang","phase":"copy-out"}, {"kind":"out-of-memory","phase":"sync"})");
  block.card().Begin();
  EXPECT_CONTAINS(block.Said(job), "207018");
  job->outputs.clear();
  std::vector<ascend::Buffer> lent;
  const std::string mark(512, 'm');
  for (int number = 0; number < 4; number++) {
    lent.push_back(block.card().device()->pinned_memory().Take(12));
    std::memcpy(lent.back().data(), mark.data(), lent.back().capacity());
  }
  // The copy that hung goes on, if it is still there.
  UseFaults("");
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  for (const ascend::Buffer& buffer : lent) EXPECT(std::memcmp(buffer.data(), mark.data(), buffer.capacity()) == 0);
  // Work that had to be broken off has cost the card's streams, not the card.
  EXPECT(!block.card().is_healthy());
  EXPECT(!block.card().device()->is_faulty());
}

TEST(ExecBlock, memory_of_a_card_that_hangs_is_not_lent_again) {
  OneBlock block;
  const auto job = block.Submit(1);
  UseFaults(R"({"kind":"hang","phase":"copy-out"}, {"kind":"task-timeout","phase":"sync"})");
  block.card().Begin();
  EXPECT_CONTAINS(block.Said(job), "507046");
  job->outputs.clear();
  try {
    block.card().device()->pinned_memory().Take(12);
  } catch (const ascend::Error& error) {
    EXPECT_CONTAINS(error.what(), "device 0 is out of order: ");
    EXPECT_CONTAINS(error.what(), "507046");
    return;
  }
  throw std::runtime_error("a buffer was lent");
}
