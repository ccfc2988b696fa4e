#pragma once

#include <atomic>
#include <cstddef>
#include <utility>

namespace rolter::http {

/// What all connections together may hold of requests that are being read or answered, beyond the
/// kFreeBytes that each may hold anyway. Any thread.
class BufferBudget {
 public:
  /// The usual request takes no part, and costs nothing here.
  static constexpr std::size_t kFreeBytes = 65'536;

  /// One connection's share; gives it back when it goes.
  class Share {
   public:
    /// Null: without limit.
    explicit Share(BufferBudget* budget) : budget_(budget) {}
    ~Share() { release(); }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    /// For a buffer of `bytes` in all. False when that would be more than `limit` (0: none) for all
    /// shares together; then the share is as before.
    [[nodiscard]] bool grow_to(std::size_t bytes, std::size_t limit) {
      if (bytes <= kFreeBytes || bytes <= held_ || budget_ == nullptr) {
        return true;
      }
      const std::size_t more = bytes - held_;
      const std::size_t before = budget_->held_.fetch_add(more, std::memory_order_relaxed);
      if (limit != 0 && before + more > limit) {
        budget_->held_.fetch_sub(more, std::memory_order_relaxed);
        return false;
      }
      held_ = bytes;
      return true;
    }

    void release() {
      if (held_ > 0) {
        budget_->held_.fetch_sub(std::exchange(held_, 0), std::memory_order_relaxed);
      }
    }

   private:
    BufferBudget* budget_;
    std::size_t held_ = 0;
  };

  [[nodiscard]] std::size_t held() const { return held_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::size_t> held_{0};
};

}  // namespace rolter::http
