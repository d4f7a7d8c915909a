#include "ascend/supervised.h"

#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <filesystem>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

namespace npu_console::ascend {

void RunSupervised(const std::string& what, std::chrono::milliseconds limit, std::function<void()> body) {
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    bool is_done = false;
    std::exception_ptr failure;
  };
  const auto state = std::make_shared<State>();
  std::thread([state, body = std::move(body)]() mutable {
    std::exception_ptr failure;
    try {
      body();
    } catch (...) {
      failure = std::current_exception();
    }
    // What the body owned is gone before anybody hears that it is done.
    body = nullptr;
    const std::lock_guard lock(state->mutex);
    state->failure = std::move(failure);
    state->is_done = true;
    state->changed.notify_all();
  }).detach();
  std::unique_lock lock(state->mutex);
  if (!state->changed.wait_for(lock, limit, [&] { return state->is_done; })) {
    throw Error(ErrorKind::Unavailable,
                what + " did not come to an end within " + std::to_string(limit.count()) +
                    " ms: the card or its driver hangs. Look at npu-smi info; resetting the card (npu-smi set -t reset) or restarting the server may help",
                0, FaultScope::Device);
  }
  if (state->failure) std::rethrow_exception(std::exchange(state->failure, nullptr));
}

std::string EnterPrivateDirectory(const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return "the directory " + directory + " cannot be made: " + error.message();
  if (unshare(CLONE_FS) != 0) return std::string("a thread cannot have a current directory of its own here: ") + std::strerror(errno);
  if (chdir(directory.c_str()) != 0) return "the directory " + directory + " cannot be entered: " + std::strerror(errno);
  return "";
}

}  // namespace npu_console::ascend
