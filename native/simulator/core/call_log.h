// What was asked of the simulated CANN, and what its cards did, in one order: for tests of who calls what, when. Off until a test in the same process turns it
// on, so a server pays a look at one flag.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace simulator {

struct Call {
  /** CANN's name of the function; "run", "copy-in", "copy-out" for a task that a stream begins, with " done" behind it for its end. */
  std::string name;
  /** As the process counts; -1: of none. */
  int device = -1;
  uint64_t session = 0;
  uint32_t graph = 0;
  uint64_t stream = 0;
  /** Options of GE or of a parser; of other calls what else there is to tell, such as "bytes". */
  std::map<std::string, std::string> facts;
};

class CallLog {
 public:
  static CallLog &Instance();

  /** Forgets what there is, and takes down from now on. */
  void Start();
  bool isOn() const { return isOn_; }
  void Add(Call call);
  std::vector<Call> Calls();

 private:
  std::atomic<bool> isOn_{false};
  std::mutex mutex_;
  std::vector<Call> calls_;
};

/** Takes a call down; `make` is run only where somebody wants to know. */
template <typename Make>
void Note(Make make) {
  if (CallLog::Instance().isOn()) CallLog::Instance().Add(make());
}

/** A task of a stream, from its beginning to its end. */
class NotedTask {
 public:
  NotedTask(const char *name, int device, uint64_t stream, std::map<std::string, std::string> facts = {})
      : call_{name, device, 0, 0, stream, std::move(facts)} {
    Note([this] { return call_; });
  }
  ~NotedTask() {
    call_.name += " done";
    Note([this] { return call_; });
  }
  NotedTask(const NotedTask &) = delete;
  NotedTask &operator=(const NotedTask &) = delete;

 private:
  Call call_;
};

}  // namespace simulator
