// For a program that it is preloaded into: counts the bytes of its large copies (memcpy, memmove) in the file that COUNT_COPIES_FILE names, as one native
// 64-bit number that can be read while the program runs. COUNT_COPIES_FROM: bytes from which a copy is large.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>

namespace {

using Copy = void* (*)(void*, const void*, std::size_t);

Copy next_memmove = nullptr;
std::atomic<std::uint64_t>* counted = nullptr;
std::size_t large_from = SIZE_MAX;

__attribute__((constructor)) void Open() {
  next_memmove = reinterpret_cast<Copy>(dlsym(RTLD_NEXT, "memmove"));
  const char* const path = std::getenv("COUNT_COPIES_FILE");
  const char* const from = std::getenv("COUNT_COPIES_FROM");
  if (path == nullptr || from == nullptr) return;
  const int file = open(path, O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, sizeof *counted) != 0) return;
  void* const mapped = mmap(nullptr, sizeof *counted, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (mapped == MAP_FAILED) return;
  counted = static_cast<std::atomic<std::uint64_t>*>(mapped);
  large_from = std::strtoull(from, nullptr, 10);
}

void* Counted(void* target, const void* source, std::size_t size) {
  if (size >= large_from) counted->fetch_add(size, std::memory_order_relaxed);
  if (next_memmove != nullptr) return next_memmove(target, source, size);
  // Before the constructor ran.
  auto* to = static_cast<volatile char*>(target);
  const auto* from = static_cast<const char*>(source);
  if (target < source) {
    for (std::size_t index = 0; index < size; ++index) to[index] = from[index];
  } else {
    while (size-- > 0) to[size] = from[size];
  }
  return target;
}

}  // namespace

extern "C" {
#define EXPORT __attribute__((visibility("default")))
EXPORT void* memcpy(void* target, const void* source, std::size_t size) { return Counted(target, source, size); }
EXPORT void* memmove(void* target, const void* source, std::size_t size) { return Counted(target, source, size); }
EXPORT void* __memcpy_chk(void* target, const void* source, std::size_t size, std::size_t) { return Counted(target, source, size); }
EXPORT void* __memmove_chk(void* target, const void* source, std::size_t size, std::size_t) { return Counted(target, source, size); }
}
