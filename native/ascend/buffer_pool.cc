#include "ascend/buffer_pool.h"

#include <bit>
#include <string>
#include <utility>
#include <vector>

#include "ascend/acl_error.h"
#include "ascend/device.h"

namespace npu_console::ascend {

namespace {

constexpr size_t SMALLEST = 512;
/** More than that is not kept for later. */
constexpr size_t KEPT_AT_MOST = size_t{1} << 30;

/** Eight sizes between two powers of two: at most an eighth is wasted, and buffers of similar shapes are shared. */
size_t SizeClass(size_t bytes) {
  if (bytes <= SMALLEST) return SMALLEST;
  const size_t step = std::bit_floor(bytes) / 8;
  return (bytes + step - 1) / step * step;
}

}  // namespace

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (this == &other) return *this;
  Release();
  pool_ = std::exchange(other.pool_, nullptr);
  data_ = std::exchange(other.data_, nullptr);
  capacity_ = std::exchange(other.capacity_, 0);
  return *this;
}

void Buffer::Release() {
  if (data_ != nullptr) pool_->Return(data_, capacity_);
  data_ = nullptr;
}

Buffer BufferPool::Take(size_t bytes) {
  device_.RequireSound();
  const size_t size = SizeClass(bytes);
  {
    const std::lock_guard lock(mutex_);
    const auto found = unused_.lower_bound(size);
    if (found != unused_.end() && found->first <= 2 * size) {
      Buffer buffer(this, found->second, found->first);
      usage_.unused -= found->first;
      usage_.in_use += found->first;
      unused_.erase(found);
      return buffer;
    }
  }
  device_.Use();
  void* data = nullptr;
  aclError code = Allocate(&data, size);
  if (code != ACL_SUCCESS && !device_.is_faulty()) {
    Trim();
    code = Allocate(&data, size);
  }
  device_.Check(code, "allocating " + std::to_string(size) + (place_ == Place::Device ? " bytes of memory on device " : " bytes of pinned host memory for device ") +
                          std::to_string(device_.id()));
  const std::lock_guard lock(mutex_);
  usage_.in_use += size;
  usage_.allocations++;
  return {this, data, size};
}

void BufferPool::Trim() {
  std::multimap<size_t, void*> unused;
  {
    const std::lock_guard lock(mutex_);
    unused.swap(unused_);
    usage_.unused = 0;
  }
  for (const auto& [size, data] : unused) Free(data);
}

BufferPool::Usage BufferPool::usage() const {
  const std::lock_guard lock(mutex_);
  return usage_;
}

void BufferPool::Return(void* data, size_t capacity) {
  {
    const std::lock_guard lock(mutex_);
    usage_.in_use -= capacity;
    // A card that hangs may still write into its buffers: those are freed after it was reset, with the pool.
    if (usage_.unused + capacity <= KEPT_AT_MOST || device_.is_faulty()) {
      usage_.unused += capacity;
      unused_.emplace(capacity, data);
      return;
    }
  }
  Free(data);
}

int BufferPool::Allocate(void** data, size_t bytes) const {
  const AclApi& api = device_.api();
  return place_ == Place::Device ? api.aclrtMalloc(data, bytes, ACL_MEM_MALLOC_HUGE_FIRST) : api.aclrtMallocHost(data, bytes);
}

void BufferPool::Free(void* data) const {
  const AclApi& api = device_.api();
  const bool is_usable = device_.TryUse();
  // The reset of a card frees its memory, not the host's.
  if (place_ == Place::PinnedHost) {
    api.aclrtFreeHost(data);
  } else if (is_usable) {
    api.aclrtFree(data);
  }
}

}  // namespace npu_console::ascend
