#pragma once

#include <cstddef>

namespace rolter::http {

/// Memory of coroutines that have ended, kept for the next ones: a request starts some twenty, of
/// the same sizes each time. One pool a thread, of at most kMostKept bytes.
class FramePool {
 public:
  static constexpr std::size_t kMostKept = 262'144;

  [[nodiscard]] static void* take(std::size_t bytes);
  /// On any thread, of the pool of which the memory becomes part then.
  static void give(void* frame, std::size_t bytes) noexcept;
};

}  // namespace rolter::http
