#include "thread_info.h"

#include <pthread.h>
#include <time.h>

#include "../shared/utf8.h"

namespace npu_console {
namespace {

constexpr std::size_t kThreadNameBytes = 15;

}  // namespace

void NameCurrentThread(const std::string& name) {
  pthread_setname_np(pthread_self(), Utf8Prefix(name, kThreadNameBytes).c_str());
}

std::int64_t CurrentThreadCpuNanoseconds() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<std::int64_t>(used.tv_sec) * 1'000'000'000 + used.tv_nsec;
}

}  // namespace npu_console
