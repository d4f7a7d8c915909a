#include "thread_info.h"

#include <pthread.h>
#include <time.h>

namespace npu_console {
namespace {

constexpr std::size_t kThreadNameBytes = 15;

bool IsContinuationByte(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

}  // namespace

std::string Utf8Prefix(const std::string& text, std::size_t limit) {
  if (text.size() <= limit) return text;
  std::size_t end = limit;
  while (end > 0 && IsContinuationByte(text[end])) --end;
  return text.substr(0, end);
}

void NameCurrentThread(const std::string& name) {
  pthread_setname_np(pthread_self(), Utf8Prefix(name, kThreadNameBytes).c_str());
}

std::int64_t CurrentThreadCpuNanoseconds() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<std::int64_t>(used.tv_sec) * 1'000'000'000 + used.tv_nsec;
}

}  // namespace npu_console
