// Writes how often each function of libtritonserver.so was called into the file that COUNT_CALLS_FILE names, when the process ends. Its functions, which are
// generated, stand before those of the library and jump on to them.
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr const char* kNames[] = {
#include "count_calls_names.inc"
};
constexpr std::size_t kCount = sizeof kNames / sizeof kNames[0];

}  // namespace

extern "C" {
extern __attribute__((visibility("hidden"))) std::uint64_t count_calls_counts[kCount];
extern __attribute__((visibility("hidden"))) void* count_calls_targets[kCount];
}

namespace {

__attribute__((constructor)) void FindTargets() {
  for (std::size_t index = 0; index < kCount; ++index) count_calls_targets[index] = dlsym(RTLD_NEXT, kNames[index]);
}

__attribute__((destructor)) void WriteCounts() {
  const char* const path = std::getenv("COUNT_CALLS_FILE");
  if (path == nullptr) return;
  std::FILE* const file = std::fopen(path, "w");
  if (file == nullptr) return;
  for (std::size_t index = 0; index < kCount; ++index) std::fprintf(file, "%s %llu\n", kNames[index], static_cast<unsigned long long>(count_calls_counts[index]));
  std::fclose(file);
}

}  // namespace
