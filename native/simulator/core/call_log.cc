#include "core/call_log.h"

#include <utility>

namespace simulator {

CallLog &CallLog::Instance() {
  // Never destroyed: stream threads may outlive main.
  static CallLog *log = new CallLog();
  return *log;
}

void CallLog::Start() {
  const std::lock_guard lock(mutex_);
  calls_.clear();
  isOn_ = true;
}

void CallLog::Add(Call call) {
  const std::lock_guard lock(mutex_);
  calls_.push_back(std::move(call));
}

std::vector<Call> CallLog::Calls() {
  const std::lock_guard lock(mutex_);
  return calls_;
}

}  // namespace simulator
