// Memory for the outputs of one batch. Where its requests want the same large size of an output, their buffers lie end to end, in the order in which they are asked
// for: a backend that computes the output of the whole batch in one piece then need not cut it up by copying.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

namespace npu_console::triton {

class BatchMemory {
 public:
  explicit BatchMemory(std::uint32_t request_count) : request_count_(request_count) {}

  // The next piece for that output, aligned as AllocateMemory does. Null where it is to lie by itself: it is small, would not be aligned, or is unlike those before.
  // Safe from any thread.
  std::shared_ptr<void> Take(const std::string& output, std::uint64_t byte_size);

 private:
  struct Block {
    std::shared_ptr<void> memory;  // let go with the last piece: then the pieces hold it
    std::uint64_t piece_size = 0;
    std::uint32_t taken = 0;
  };

  const std::uint32_t request_count_;
  std::mutex mutex_;
  std::unordered_map<std::string, Block> blocks_;
};

}  // namespace npu_console::triton
