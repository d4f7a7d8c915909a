// Memory of a card, and pinned memory of the host for it, kept for the next run instead of given back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace npu_console::ascend {

class BufferPool;
class Device;

/** A piece of memory, 64-byte aligned; goes back to its pool at the end. The pool's device must live as long. */
class Buffer {
 public:
  Buffer() = default;
  Buffer(BufferPool* pool, void* data, size_t capacity) : pool_(pool), data_(data), capacity_(capacity) {}
  Buffer(Buffer&& other) noexcept { *this = std::move(other); }
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer() { Release(); }

  void* data() const { return data_; }
  /** At least what was asked for. */
  size_t capacity() const { return capacity_; }
  explicit operator bool() const { return data_ != nullptr; }

 private:
  void Release();

  BufferPool* pool_ = nullptr;
  void* data_ = nullptr;
  size_t capacity_ = 0;
};

class BufferPool {
 public:
  enum class Place { Device, PinnedHost };

  BufferPool(Device& device, Place place) : device_(device), place_(place) {}
  ~BufferPool() { Trim(); }
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  /**
   * At least `bytes`, not zeroed. Safe from any thread.
   * @throws Error; when the card is full, after everything that lay unused was given back; always on a faulty card, which may still write into what came back
   */
  Buffer Take(size_t bytes);

  /** Gives back what is not in use. */
  void Trim();

  struct Usage {
    size_t in_use = 0;   // bytes in Buffers
    size_t unused = 0;   // bytes kept for later
    uint64_t allocations = 0;  // how often CANN was asked
  };
  Usage usage() const;

 private:
  friend class Buffer;
  void Return(void* data, size_t capacity);
  int Allocate(void** data, size_t bytes) const;
  void Free(void* data) const;

  Device& device_;
  const Place place_;
  mutable std::mutex mutex_;
  std::multimap<size_t, void*> unused_;
  Usage usage_;
};

}  // namespace npu_console::ascend
