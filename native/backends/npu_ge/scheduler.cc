#include "scheduler.h"

#include <algorithm>
#include <thread>

#include "ascend/supervised.h"
#include "common/error.h"

namespace npu_console::npu_ge {

namespace {

constexpr auto kFirstPause = std::chrono::milliseconds(500);
constexpr auto kLongestPause = std::chrono::milliseconds(30'000);
constexpr auto kStopLimit = std::chrono::milliseconds(5'000);
// How much a run that was counts against those before it.
constexpr double kNewest = 0.2;
constexpr std::size_t kShapesRemembered = 1024;

// Ends a card; what hangs while doing so is left behind.
void LetGo(std::shared_ptr<Card> card) {
  if (card == nullptr) return;
  card->Stop(kStopLimit);
  const std::string what = "resetting device " + std::to_string(card->device()->id());
  try {
    ascend::RunSupervised(what, kStopLimit, [last = std::move(card)] {});
  } catch (const ascend::Error& error) {
    KIT_LOG(ERROR, error.what());
  }
}

}  // namespace

Scheduler::Scheduler(Setup setup) : setup_(std::move(setup)) {
  for (const int device : setup_.devices) {
    Slot& slot = slots_.emplace_back();
    slot.device = device;
  }
}

void Scheduler::Build(std::size_t index) {
  std::shared_ptr<Card> old;
  int device = 0;
  {
    const std::lock_guard lock(mutex_);
    old = std::move(slots_[index].card);
    device = slots_[index].device;
  }
  LetGo(std::move(old));
  const auto result = std::make_shared<std::shared_ptr<Card>>();
  std::string problem;
  std::exception_ptr failure;
  try {
    const std::string what = "loading " + setup_.plan.model.name + " on device " + std::to_string(device);
    ascend::RunSupervised(what, setup_.load_timeout, [result, plan = setup_.plan, device, lease = setup_.lease] {
      ascend::EnterPrivateDirectory(plan.work_directory);
      *result = Card::Build(plan, device);
    });
  } catch (const std::exception& exception) {
    problem = exception.what();
    failure = std::current_exception();
  }
  bool is_unwanted = false;
  {
    const std::lock_guard lock(mutex_);
    Slot& slot = slots_[index];
    slot.is_building = false;
    slot.problem = problem;
    is_unwanted = !is_running_;
    if (!failure && !is_unwanted) {
      (*result)->Begin();
      slot.card = *result;
      slot.pause = std::chrono::milliseconds(0);
    } else {
      slot.pause = std::clamp(slot.pause * 2, kFirstPause, kLongestPause);
      slot.retry_at = Clock::now() + slot.pause;
    }
    changed_.notify_all();
  }
  if (failure) std::rethrow_exception(failure);
  // Unloaded meanwhile.
  if (is_unwanted) LetGo(std::move(*result));
}

void Scheduler::Start(bool needs_all) {
  const std::lock_guard one(start_mutex_);
  std::vector<std::size_t> missing;
  {
    std::unique_lock lock(mutex_);
    is_running_ = true;
    // What the recovery builds just now is waited for, rather than built a second time.
    changed_.wait(lock, [&] { return std::none_of(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.is_building; }); });
    for (std::size_t index = 0; index < slots_.size(); ++index) {
      Slot& slot = slots_[index];
      if (slot.card != nullptr && slot.card->is_healthy()) continue;
      slot.is_building = true;
      missing.push_back(index);
    }
  }
  std::exception_ptr first;
  bool gives_up = false;
  for (const std::size_t index : missing) {
    if (gives_up) {
      const std::lock_guard lock(mutex_);
      slots_[index].is_building = false;
      changed_.notify_all();
      continue;
    }
    try {
      Build(index);
    } catch (...) {
      if (!first) first = std::current_exception();
      gives_up = needs_all;
    }
  }
  if (!first) return;
  if (needs_all || Problem(std::nullopt).has_value()) std::rethrow_exception(first);
  WakeRecovery();
}

void Scheduler::Replace(const std::shared_ptr<Card>& lost) {
  const std::lock_guard one(start_mutex_);
  std::size_t index = 0;
  {
    std::unique_lock lock(mutex_);
    while (slots_[index].device != lost->device()->id()) ++index;
    Slot& slot = slots_[index];
    changed_.wait(lock, [&] { return !slot.is_building; });
    if (!is_running_ || slot.card != lost) return;
    slot.is_building = true;
  }
  try {
    Build(index);
  } catch (...) {
    WakeRecovery();
    throw;
  }
}

void Scheduler::Stop() {
  const std::lock_guard one(start_mutex_);
  std::vector<std::shared_ptr<Card>> cards;
  {
    const std::lock_guard lock(mutex_);
    is_running_ = false;
    for (Slot& slot : slots_) {
      if (slot.card != nullptr) cards.push_back(std::move(slot.card));
      slot.card = nullptr;
      slot.problem.clear();
      slot.pause = std::chrono::milliseconds(0);
    }
    changed_.notify_all();
  }
  for (std::shared_ptr<Card>& card : cards) LetGo(std::move(card));
}

std::shared_ptr<Card> Scheduler::Choose(double cost, std::optional<int> device) {
  {
    const std::lock_guard lock(mutex_);
    Slot* best = nullptr;
    double least = 0;
    bool is_any_ill = false;
    for (Slot& slot : slots_) {
      const bool is_healthy = slot.card != nullptr && slot.card->is_healthy();
      is_any_ill = is_any_ill || !is_healthy;
      if (!is_healthy || (device.has_value() && slot.device != *device)) continue;
      // In relation to what the card can do at once; of equals the one that was chosen longest ago.
      const double load = slot.card->outstanding() / slot.card->blocks();
      if (best == nullptr || load < least || (load == least && slot.last_chosen < best->last_chosen)) {
        best = &slot;
        least = load;
      }
    }
    if (best != nullptr) {
      best->last_chosen = ++choices_;
      best->card->Promise(cost);
      return best->card;
    }
  }
  WakeRecovery();
  throw kit::Unavailable(Problem(device).value_or("No card takes work at the moment: send the request again"));
}

double Scheduler::Cost(const std::string& shapes, std::uint64_t elements) {
  const std::lock_guard lock(mutex_);
  const auto found = microseconds_.find(shapes);
  return found != microseconds_.end() ? found->second : std::max(1.0, per_element_ * static_cast<double>(elements));
}

void Scheduler::Learn(const std::string& shapes, std::uint64_t elements, double microseconds) {
  const std::lock_guard lock(mutex_);
  const double spent = std::max(1.0, microseconds);
  per_element_ += kNewest * (spent / static_cast<double>(std::max<std::uint64_t>(1, elements)) - per_element_);
  const auto found = microseconds_.find(shapes);
  if (found != microseconds_.end()) {
    found->second += kNewest * (spent - found->second);
  } else if (microseconds_.size() < kShapesRemembered) {
    microseconds_.emplace(shapes, spent);
  }
}

std::optional<std::string> Scheduler::Problem(std::optional<int> device) {
  const std::lock_guard lock(mutex_);
  std::string reasons;
  for (const Slot& slot : slots_) {
    if (device.has_value() && slot.device != *device) continue;
    if (slot.card != nullptr && slot.card->is_healthy()) return std::nullopt;
    const std::string reason = slot.card != nullptr ? slot.card->fault() : slot.problem;
    reasons += (reasons.empty() ? "Device " : "; device ") + std::to_string(slot.device) + ": " +
               (!reason.empty() ? reason : slot.is_building ? "the model is being loaded there again" : "the model is not loaded there");
  }
  return reasons.empty() ? "The model has no card" : reasons;
}

std::vector<std::shared_ptr<Card>> Scheduler::Cards() {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Card>> cards;
  for (const Slot& slot : slots_) {
    if (slot.card != nullptr && slot.card->is_healthy()) cards.push_back(slot.card);
  }
  return cards;
}

std::vector<std::string> Scheduler::Faults() {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> faults;
  for (const Slot& slot : slots_) {
    if (slot.card != nullptr && slot.card->is_healthy()) continue;
    faults.push_back("Device " + std::to_string(slot.device) + " is out: " + (slot.card != nullptr ? slot.card->fault() : slot.problem));
  }
  return faults;
}

void Scheduler::WakeRecovery() {
  const std::lock_guard lock(mutex_);
  if (is_recovering_ || !is_running_) return;
  is_recovering_ = true;
  std::thread([self = shared_from_this()] { self->Recover(); }).detach();
}

// One at a time; ends when all is well or the model is unloaded. A server that restarts instances by itself only makes it quicker.
void Scheduler::Recover() {
  std::unique_lock lock(mutex_);
  while (is_running_) {
    std::size_t next = slots_.size();
    bool all_well = true;
    Clock::time_point earliest = Clock::time_point::max();
    for (std::size_t index = 0; index < slots_.size(); ++index) {
      Slot& slot = slots_[index];
      if (slot.card != nullptr && slot.card->is_healthy()) continue;
      all_well = false;
      if (slot.is_building) continue;
      // A card that has just failed is given a moment first.
      if (slot.card != nullptr && slot.retry_at < Clock::now() && slot.pause == std::chrono::milliseconds(0)) {
        slot.pause = kFirstPause;
        slot.retry_at = Clock::now() + slot.pause;
      }
      if (slot.retry_at <= Clock::now()) next = std::min(next, index);
      earliest = std::min(earliest, slot.retry_at);
    }
    if (all_well) break;
    if (next == slots_.size()) {
      changed_.wait_until(lock, std::min(earliest, Clock::now() + kLongestPause));
      continue;
    }
    slots_[next].is_building = true;
    const int device = slots_[next].device;
    lock.unlock();
    try {
      Build(next);
      KIT_LOG(INFO, setup_.plan.model.name + " runs on device " + std::to_string(device) + " again");
    } catch (const std::exception& exception) {
      KIT_LOG(WARN, setup_.plan.model.name + " cannot be loaded on device " + std::to_string(device) + " again yet: " + exception.what());
    }
    lock.lock();
  }
  is_recovering_ = false;
}

}  // namespace npu_console::npu_ge
