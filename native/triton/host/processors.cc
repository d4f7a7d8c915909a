#include "processors.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <system_error>

namespace npu_console::triton {
namespace {

// More than any kernel counts, so that its own set always fits.
constexpr std::size_t kMostProcessors = 1 << 17;

// A set of the kernel's, of any size.
class ProcessorSet {
 public:
  ProcessorSet() : set_(CPU_ALLOC(kMostProcessors)) {
    if (set_ == nullptr) throw std::bad_alloc();
    CPU_ZERO_S(size(), set_.get());
  }
  static std::size_t size() { return CPU_ALLOC_SIZE(kMostProcessors); }
  cpu_set_t* get() { return set_.get(); }
  void Add(std::size_t processor) { CPU_SET_S(processor, size(), set_.get()); }
  bool Has(std::size_t processor) const { return CPU_ISSET_S(processor, size(), set_.get()) != 0; }

 private:
  struct Free {
    void operator()(cpu_set_t* set) const { CPU_FREE(set); }
  };
  std::unique_ptr<cpu_set_t, Free> set_;
};

// As users write them: 0-3,8.
template <typename Has>
std::string ListText(const Has& has) {
  std::string text;
  for (std::size_t first = 0; first < kMostProcessors; ++first) {
    if (!has(first)) continue;
    std::size_t last = first;
    while (last + 1 < kMostProcessors && has(last + 1)) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(first);
    if (last != first) text.append(1, '-').append(std::to_string(last));
    first = last;
  }
  return text;
}

}  // namespace

ErrorPtr BindCurrentThread(const std::vector<std::uint32_t>& processors, const std::string& policy) {
  if (processors.empty()) return nullptr;
  ProcessorSet wanted;
  for (const std::uint32_t processor : processors) wanted.Add(processor);
  const auto refuse = [&](const std::string& reason) {
    return ErrorPtr(InvalidArgument("host policy '" + policy + "' cannot bind a thread to the processors " + ListText([&](std::size_t processor) { return wanted.Has(processor); }) +
                                    ": " + reason + ". Change --host-policy; nproc --all and taskset -p $$ say what there is"));
  };
  if (const int failure = pthread_setaffinity_np(pthread_self(), ProcessorSet::size(), wanted.get())) return refuse(std::generic_category().message(failure));
  // The kernel takes a list of which it has a part.
  ProcessorSet bound;
  if (const int failure = pthread_getaffinity_np(pthread_self(), ProcessorSet::size(), bound.get())) return refuse(std::generic_category().message(failure));
  const bool is_whole = std::all_of(processors.begin(), processors.end(), [&](std::uint32_t processor) { return bound.Has(processor); });
  return is_whole ? nullptr : refuse("of these the machine lets this process use only " + ListText([&](std::size_t processor) { return bound.Has(processor); }));
}

}  // namespace npu_console::triton
