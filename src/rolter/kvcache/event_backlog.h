#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "rolter/kvcache/kv_event.h"

namespace rolter::kvcache {

/// Tells a batch that was seen before from another one with its number: an engine that restarts
/// counts from 0 again. Remembers the newest kRemembered batches by number and fingerprint: more
/// than a live stream ever lags behind a replay. 64 KiB once used.
class SeenBatches {
 public:
  enum class Answer : std::uint8_t { kSame, kDifferent, kUnknown };

  void add(std::uint64_t sequence, std::uint64_t fingerprint) {
    seen_.resize(kRemembered);
    seen_[sequence % kRemembered] = {sequence + 1, fingerprint};
  }
  [[nodiscard]] Answer ask(std::uint64_t sequence, std::uint64_t fingerprint) const {
    if (seen_.empty() || seen_[sequence % kRemembered].sequence_plus_1 != sequence + 1) {
      return Answer::kUnknown;
    }
    return seen_[sequence % kRemembered].fingerprint == fingerprint ? Answer::kSame
                                                                    : Answer::kDifferent;
  }
  void clear() { seen_.clear(); }

 private:
  static constexpr std::size_t kRemembered = 4096;
  struct Seen {
    std::uint64_t sequence_plus_1 = 0;
    std::uint64_t fingerprint = 0;
  };
  std::vector<Seen> seen_;
};

/// Live batches that wait for the end of a replay. Bounded: what does not fit is dropped, which
/// shows as a gap later and is asked for again.
class LiveBacklog {
 public:
  struct Batch {
    std::uint64_t sequence = 0;
    std::vector<std::byte> payload;
  };

  /// False when there is no room.
  bool push(std::uint64_t sequence, Payload payload) {
    if (batches_.size() >= kMaxBatches || bytes_ + payload.size() > kMaxBytes) {
      return false;
    }
    bytes_ += payload.size();
    batches_.push_back({sequence, {payload.begin(), payload.end()}});
    return true;
  }
  [[nodiscard]] bool empty() const { return batches_.empty(); }
  [[nodiscard]] const Batch& front() const { return batches_.front(); }
  [[nodiscard]] const Batch& back() const { return batches_.back(); }
  [[nodiscard]] bool contains(std::uint64_t sequence, Payload payload) const {
    return std::ranges::any_of(batches_, [&](const Batch& batch) {
      return batch.sequence == sequence && std::ranges::equal(batch.payload, payload);
    });
  }
  void pop() {
    bytes_ -= batches_.front().payload.size();
    batches_.pop_front();
  }
  void clear() {
    batches_.clear();
    bytes_ = 0;
  }

 private:
  static constexpr std::size_t kMaxBatches = 10'000;
  static constexpr std::size_t kMaxBytes = 64U << 20;

  std::deque<Batch> batches_;
  std::size_t bytes_ = 0;
};

}  // namespace rolter::kvcache
