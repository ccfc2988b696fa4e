#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace rolter::telemetry {

/// Whole log lines on their way from event loops to the one thread that writes them. Any thread may
/// push, one takes. Pushing holds a lock for the time of a pointer swap and never waits for the
/// writer: when a stuck pipe lets `most_bytes` pile up, further batches are dropped and their lines
/// counted. Buffers go round, so that nothing is allocated once they have grown.
class LogQueue {
 public:
  explicit LogQueue(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  /// Takes the lines of `batch` and leaves it empty. Returns false when they were dropped.
  bool push(std::string& batch);

  /// Waits for lines and moves all of them into `batches`, in order; the strings that `batches`
  /// held are reused as buffers. Returns false once closed and empty.
  bool take(std::vector<std::string>& batches);

  /// take() returns what is left, then false. Later pushes are dropped.
  void close();

  [[nodiscard]] std::uint64_t dropped_lines() const {
    return dropped_lines_.load(std::memory_order_relaxed);
  }

 private:
  const std::size_t most_bytes_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<std::string> pending_;
  std::vector<std::string> spare_;
  std::size_t pending_bytes_ = 0;
  bool closed_ = false;
  std::atomic<std::uint64_t> dropped_lines_{0};
};

/// Writes what the queue brings to `descriptor` until the queue is closed and empty. The body of
/// the writing thread. Lines that cannot be written (a closed pipe, a full disk) are lost: logging
/// is no reason to stop serving.
void write_log(LogQueue& queue, int descriptor);

}  // namespace rolter::telemetry
