#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

namespace rolter {

/// An immutable value published whole to many readers. A writer replaces it; each reader keeps a
/// SnapshotReader that takes the lock only when the generation has moved, so that the usual read is
/// one relaxed-cost atomic load. (std::atomic<std::shared_ptr> of libstdc++ 12 is reported as a
/// race by ThreadSanitizer and takes a lock on every load.)
template <typename T>
class SnapshotCell {
 public:
  explicit SnapshotCell(std::shared_ptr<const T> value) : value_(std::move(value)) {}

  /// Any thread. The old value lives until its last reader lets go of it.
  void publish(std::shared_ptr<const T> value) {
    const std::lock_guard lock(mutex_);
    value_.swap(value);
    generation_.fetch_add(1, std::memory_order_release);
  }

  /// Any thread; takes the lock.
  [[nodiscard]] std::shared_ptr<const T> load() const {
    const std::lock_guard lock(mutex_);
    return value_;
  }

  [[nodiscard]] std::uint64_t generation() const {
    return generation_.load(std::memory_order_acquire);
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const T> value_;
  std::atomic<std::uint64_t> generation_{1};
};

/// One thread's view of a SnapshotCell. Not thread-safe itself; the cell must outlive it.
template <typename T>
class SnapshotReader {
 public:
  explicit SnapshotReader(const SnapshotCell<T>& cell) : cell_(cell) {}

  /// The newest value. The reference is good until the next call on this reader; copy the pointer
  /// to keep the value across a suspension point.
  [[nodiscard]] const std::shared_ptr<const T>& get() {
    const std::uint64_t generation = cell_.generation();
    if (generation != seen_) {
      value_ = cell_.load();
      seen_ = generation;
    }
    return value_;
  }

 private:
  const SnapshotCell<T>& cell_;
  std::shared_ptr<const T> value_;
  std::uint64_t seen_ = 0;
};

}  // namespace rolter
