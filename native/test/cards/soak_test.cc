// Eight instances of both backends over two cards, with requests, loads, unloads and faults at random. CARDS_SOAK_SECONDS says how long (20), CARDS_SOAK_SEED
// repeats a run's choices (threads still interleave as they like). Under ThreadSanitizer it shows that nothing races; anywhere, that no request gets lost or
// wrong numbers, that every model is back after every fault and that the cards hold nothing in the end.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "ascend/acl_api.h"
#include "ascend/device.h"
#include "card_server.h"
#include "test/fixture.h"

using namespace cards;

namespace {

using Clock = std::chrono::steady_clock;

/** How long all models together may take to serve again after the last fault. Generous, as in the other tests of faults. */
constexpr double RECOVERY_SECONDS = 60;

double SecondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::uint64_t Number(const char* variable, std::uint64_t fallback) {
  const char* text = std::getenv(variable);
  return text == nullptr ? fallback : std::strtoull(text, nullptr, 10);
}

std::uint64_t MemoryInUse(int device) {
  // Asked of the same simulated libraries that the backends have open.
  const auto held = npu_console::ascend::Device::Acquire(npu_console::ascend::AclApi::Load(TEST_LIBRARY_DIR), device);
  const auto memory = held->memory();
  return memory.total_bytes - memory.free_bytes;
}

std::string RandomFault(std::mt19937_64& random) {
  const char* const kinds[] = {"out-of-memory", "card-lost", "ecc", "task-timeout", "operator-exception", "hang", "permission"};
  const char* const phases[] = {"", "load", "copy-in", "run", "copy-out", "sync"};
  const std::string kind = kinds[random() % std::size(kinds)];
  const std::string phase = phases[random() % std::size(phases)];
  const std::string device = std::to_string(random() % 2);
  const bool needs_reset = random() % 3 == 0;
  return R"({"kind": ")" + kind + R"(", "device": )" + device + (phase.empty() ? "" : R"(, "phase": ")" + phase + "\"") + (needs_reset ? R"(, "needsReset": true)" : "") + "}";
}

/** A served model and what it went through. */
struct Seat {
  CardModel model;
  /** Held for a request, for a recovery and while the model is loaded anew: requests to a model that is not there are none of the host's business. */
  std::mutex mutex;
  std::atomic<std::uint64_t> answered{0};
  std::atomic<std::uint64_t> failed{0};
  std::uint64_t reloads = 0;
};

class Soak {
 public:
  explicit Soak(std::uint64_t seed) : random_(seed) {
    for (std::uint64_t index = 0; index < 8; index++) {
      seats_.push_back(std::make_unique<Seat>());
      seats_.back()->model = {index + 1, index / 2 % 2 == 0 ? "npu_ge" : "npu_om", static_cast<int>(index % 2)};
      EXPECT_EQ(server_.Serve(seats_.back()->model), "");
    }
    for (const auto& seat : seats_) threads_.emplace_back([this, &seat = *seat, own = std::mt19937_64(seed + seat->model.token)]() mutable { Send(seat, own); });
  }

  ~Soak() {
    UseFaults("");
    Stop();
  }

  /** Reloads and faults, then quiet until every model serves; over and over. */
  void Run(std::uint64_t seconds) {
    for (const auto start = Clock::now(); SecondsSince(start) < static_cast<double>(seconds) && !HasFailed();) {
      for (auto left = 1 + random_() % 3; left > 0; left--) {
        const std::string fault = RandomFault(random_);
        UseFaults(fault);
        faults_++;
        Pause(300);
        // A recovery holds its model while the fault lasts: waiting for it here would wait for ever.
        TryReload(*seats_[random_() % seats_.size()]);
        Pause(300);
        if (left == 1) AwaitAll(fault);
      }
      Reload(*seats_[random_() % seats_.size()]);
      for (const auto kind : {TRITONHOST_EVENT_BATCH_STATISTICS, TRITONHOST_EVENT_RESPONSE_STATISTICS, TRITONHOST_EVENT_MEMORY_USAGE, TRITONHOST_EVENT_LOG}) server_.Drop(kind);
    }
  }

  void Finish() {
    UseFaults("");
    Stop();
    std::uint64_t answered = 0, failed = 0, reloads = 0;
    for (const auto& seat : seats_) {
      std::printf("m%d %s card %d: %d answered, %d failed, %d reloads\n", static_cast<int>(seat->model.token), seat->model.backend, seat->model.device,
                  static_cast<int>(seat->answered), static_cast<int>(seat->failed), static_cast<int>(seat->reloads));
      answered += seat->answered;
      failed += seat->failed;
      reloads += seat->reloads;
    }
    std::printf("%d requests answered, %d failed, %d faults, %d reloads, all back after at most %.1f s\n", static_cast<int>(answered), static_cast<int>(failed),
                static_cast<int>(faults_), static_cast<int>(reloads), longest_);
    EXPECT_EQ(failures_, "");
    for (const auto& seat : seats_) EXPECT_EQ(server_.Unload(seat->model), "");
    EXPECT(failed > 0 && reloads > 0);
    while (server_.Count(TRITONHOST_EVENT_VIOLATION) > 0) failures_ += std::string("\n") + server_.WaitAny(TRITONHOST_EVENT_VIOLATION)->text;
    EXPECT_EQ(failures_, "");
  }

 private:
  /** What one thread does: requests to its model, and what the server does where one fails. */
  void Send(Seat& seat, std::mt19937_64& random) {
    try {
      while (!is_over_) {
        {
          const std::lock_guard lock(seat.mutex);
          const std::string said = server_.Infer(seat.model, static_cast<float>(random() % 1000) / 8);
          if (said == "wrong numbers") throw std::runtime_error(said);
          (said.empty() ? seat.answered : seat.failed)++;
          std::string problem;
          // The longest time of faults comes on top: they last while this goes on.
          if (!said.empty() && server_.Recover(seat.model, RECOVERY_SECONDS + 30, problem) < 0) throw std::runtime_error("not back: " + problem);
        }
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 3000));
      }
    } catch (const std::exception& error) {
      Fail("m" + std::to_string(seat.model.token) + " on " + seat.model.backend + ": " + error.what());
    }
  }

  void AwaitAll(const std::string& fault) {
    UseFaults("");
    const auto start = Clock::now();
    for (const auto& seat : seats_) {
      for (const std::uint64_t before = seat->answered; seat->answered == before && !HasFailed();) {
        if (SecondsSince(start) > RECOVERY_SECONDS) return Fail("m" + std::to_string(seat->model.token) + " on " + seat->model.backend + " does not serve again after " + fault);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
    }
    longest_ = std::max(longest_, SecondsSince(start));
  }

  void TryReload(Seat& seat) {
    const std::unique_lock lock(seat.mutex, std::try_to_lock);
    if (lock.owns_lock()) Replace(seat);
  }

  void Reload(Seat& seat) {
    const std::lock_guard lock(seat.mutex);
    Replace(seat);
  }

  void Replace(Seat& seat) {
    server_.Unload(seat.model);
    if (!server_.Serve(seat.model).empty()) {
      // A load that a fault forbids has to succeed without it, after a while: the card may have to be reset first.
      UseFaults("");
      std::string said = "not tried";
      for (const auto start = Clock::now(); !said.empty();) {
        if (SecondsSince(start) > RECOVERY_SECONDS) return Fail("m" + std::to_string(seat.model.token) + " on " + seat.model.backend + " does not load again: " + said);
        said = server_.Serve(seat.model);
      }
    }
    seat.reloads++;
  }

  void Pause(std::uint64_t milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(random_() % milliseconds)); }

  void Stop() {
    is_over_ = true;
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  void Fail(const std::string& what) {
    const std::lock_guard lock(failures_mutex_);
    failures_ += "\n" + what;
  }

  bool HasFailed() {
    const std::lock_guard lock(failures_mutex_);
    return !failures_.empty();
  }

  std::mt19937_64 random_;
  CardServer server_;
  std::vector<std::unique_ptr<Seat>> seats_;
  std::atomic<bool> is_over_{false};
  std::mutex failures_mutex_;
  std::string failures_;
  std::uint64_t faults_ = 0;
  double longest_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace

TEST(Soak, serves_loads_and_recovers_on_two_cards) {
  const std::uint64_t seconds = Number("CARDS_SOAK_SECONDS", 20);
  const std::uint64_t seed = Number("CARDS_SOAK_SEED", std::random_device{}());
  std::printf("seed %llu, %llu s\n", static_cast<unsigned long long>(seed), static_cast<unsigned long long>(seconds));
  std::fflush(stdout);
  UseFaults("");
  const std::uint64_t before[] = {MemoryInUse(0), MemoryInUse(1)};
  {
    Soak soak(seed);
    soak.Run(seconds);
    soak.Finish();
  }
  for (const int device : {0, 1}) EXPECT_EQ(MemoryInUse(device), before[device]);
}
