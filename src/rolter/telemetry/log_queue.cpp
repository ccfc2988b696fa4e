#include "rolter/telemetry/log_queue.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

namespace rolter::telemetry {
namespace {

/// Buffers kept for reuse; a burst may make more, which are let go.
constexpr std::size_t kMostSpare = 64;

/// Returns false when the descriptor takes nothing any more.
bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
      continue;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
      pollfd ready{.fd = descriptor, .events = POLLOUT, .revents = 0};
      ::poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool LogQueue::push(std::string& batch) {
  {
    const std::lock_guard lock(mutex_);
    if (!closed_ && pending_bytes_ + batch.size() <= most_bytes_) {
      pending_bytes_ += batch.size();
      pending_.push_back(std::move(batch));
      batch = spare_.empty() ? std::string{} : std::move(spare_.back());
      if (!spare_.empty()) {
        spare_.pop_back();
      }
      batch.clear();
      arrived_.notify_one();
      return true;
    }
  }
  dropped_lines_.fetch_add(static_cast<std::uint64_t>(std::ranges::count(batch, '\n')),
                           std::memory_order_relaxed);
  batch.clear();
  return false;
}

bool LogQueue::take(std::vector<std::string>& batches) {
  std::unique_lock lock(mutex_);
  for (std::string& buffer : batches) {
    if (spare_.size() < kMostSpare) {
      spare_.push_back(std::move(buffer));
    }
  }
  batches.clear();
  arrived_.wait(lock, [this] { return closed_ || !pending_.empty(); });
  batches.swap(pending_);
  pending_bytes_ = 0;
  return !batches.empty();
}

void LogQueue::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  arrived_.notify_all();
}

void write_log(LogQueue& queue, int descriptor) {
  std::vector<std::string> batches;
  while (queue.take(batches)) {
    for (const std::string& batch : batches) {
      if (!write_all(descriptor, batch)) {
        break;
      }
    }
  }
}

}  // namespace rolter::telemetry
