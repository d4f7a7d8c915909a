// Shares out the runs of a model over its cards, by the work that each card still has before it, and brings cards back that failed.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "ascend/ge_engine.h"
#include "card.h"

namespace npu_console::npu_ge {

class Scheduler : public std::enable_shared_from_this<Scheduler> {
 public:
  struct Setup {
    Card::Plan plan;
    std::vector<int> devices;
    std::chrono::milliseconds load_timeout{};
    // Keeps GE running for as long as any card of the model may need it.
    std::shared_ptr<ascend::GeEngine::Lease> lease;
  };

  explicit Scheduler(Setup setup);

  // Builds the cards that do not run. @param needs_all a card that cannot be built fails the start; otherwise one that runs is enough, and the others are tried
  // again in the background. @throws ascend::Error
  void Start(bool needs_all);
  // Ends all cards. Bounded, also where a card hangs.
  void Stop();

  // The healthy card with the least work before it, of one device or of any; `cost` is promised to it. @throws kit::Error UNAVAILABLE with the cause where there is none
  std::shared_ptr<Card> Choose(double cost, std::optional<int> device);
  // Expected microseconds of a run with inputs of these shapes, from the runs that were.
  double Cost(const std::string& shapes, std::uint64_t elements);
  void Learn(const std::string& shapes, std::uint64_t elements, double microseconds);

  // A card failed: it is tried again in the background, with growing pauses, until it runs or the model is unloaded.
  void WakeRecovery();

  // Builds a card anew that was reset under its model, and waits for that; at once, since nothing is wrong with it. Nothing to do where another caller has done so.
  // @throws ascend::Error
  void Replace(const std::shared_ptr<Card>& lost);

  // Nothing while the device, or any, is healthy; else why not.
  std::optional<std::string> Problem(std::optional<int> device);
  // Those that run.
  std::vector<std::shared_ptr<Card>> Cards();
  // Sentences about those that do not.
  std::vector<std::string> Faults();

 private:
  struct Slot {
    int device = 0;
    std::shared_ptr<Card> card;  // null: not built
    std::string problem;
    bool is_building = false;
    std::uint64_t last_chosen = 0;
    std::chrono::milliseconds pause{0};
    Clock::time_point retry_at{};
  };

  // Replaces the slot's card; the slot is marked as building. @throws ascend::Error
  void Build(std::size_t index);
  void Recover();

  const Setup setup_;
  std::mutex start_mutex_;  // one Start at a time
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Slot> slots_;
  bool is_running_ = false;
  bool is_recovering_ = false;
  std::uint64_t choices_ = 0;
  std::map<std::string, double> microseconds_;
  double per_element_ = 1e-3;
};

}  // namespace npu_console::npu_ge
