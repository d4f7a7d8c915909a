// A host that serves models on two simulated cards (910B3, so both backends can use them), for tests that look at cards and not at one backend.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "rig.h"

namespace cards {

/** What the settings of the cards say besides the faults: no modelled times, and calls on a card that hangs give up after this time. */
constexpr int HEARTBEAT_MILLISECONDS = 200;
/** For the backends: how long a run may take before its card counts as hung. */
constexpr int EXECUTION_MILLISECONDS = 500;

/** Sets the faults of the cards, as entries of the settings' list; "" for none. */
void UseFaults(const std::string& faults);

/** The numbers that the model of all tests gives for rows of four. */
std::vector<float> Expected(const std::vector<float>& rows);

/** What an event says went wrong; "" for nothing. */
std::string Said(const rig::EventPtr& event);

/** One model, by the backend's name, on one card. Its instance has the same token. */
struct CardModel {
  std::uint64_t token;
  const char* backend;
  int device;
};

class CardServer : public rig::Rig {
 public:
  CardServer();

  /** Loads the model and gives it an instance. @returns what failed; "" when it serves */
  std::string Serve(const CardModel& model);
  /** @returns what ModelFinalize said */
  std::string Unload(const CardModel& model);

  /** One request of one row; thread-safe. @returns what it was failed with, or a text about wrong numbers; "" when all is well */
  std::string Infer(const CardModel& model, float first = 0.5F);

  /**
   * What the server does with an instance that is not ready: asks, and if need be removes it and adds it again, until a request is answered rightly.
   * @returns seconds that took; negative when the model did not come back within `limitSeconds`, with the reason in `problem`
   */
  double Recover(const CardModel& model, double limitSeconds, std::string& problem);

 private:
  std::string AddInstanceOf(const CardModel& model);

  std::string settings_;
  std::string om_;
  std::atomic<std::uint64_t> request_{1'000'000};
};

}  // namespace cards
