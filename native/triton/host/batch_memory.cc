#include "batch_memory.h"

#include <cstddef>
#include <new>

#include "values.h"

namespace npu_console::triton {
namespace {

// Copying less costs nothing that could be measured.
constexpr std::uint64_t kSmallestPiece = 64 << 10;

}  // namespace

std::shared_ptr<void> BatchMemory::Take(const std::string& output, std::uint64_t byte_size) {
  if (request_count_ < 2 || byte_size < kSmallestPiece || byte_size % kMemoryAlignment != 0 || byte_size > UINT64_MAX / request_count_) return nullptr;
  const std::lock_guard lock(mutex_);
  Block& block = blocks_[output];
  if (block.taken == 0) {
    try {
      block.memory = AllocateMemory(byte_size * request_count_);
    } catch (const std::bad_alloc&) {
      // There may be room for the pieces.
      return nullptr;
    }
    block.piece_size = byte_size;
  }
  if (block.memory == nullptr || byte_size != block.piece_size) return nullptr;
  std::shared_ptr<void> piece(block.memory, static_cast<std::byte*>(block.memory.get()) + block.taken * byte_size);
  if (++block.taken == request_count_) block.memory.reset();
  return piece;
}

}  // namespace npu_console::triton
