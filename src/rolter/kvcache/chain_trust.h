#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstddef>
#include <cstdint>

namespace rolter::kvcache {

/// How far what has been learned of chains has proved true for the requests of one route and model.
///
/// A prediction is wrong when a chain leaves the predicted one more than a block early, or when the
/// engine finds more than a block less than was predicted. Over kDistrustedFrom (a chat template
/// that rewrites what came before does that; evictions between the choice and the engine's own look
/// stay below it) nothing learned earns credit, until the running error, which goes on being
/// measured, is below kTrustedFrom again.
class ChainTrust {
 public:
  static constexpr double kDistrustedFrom = 0.3;
  static constexpr double kTrustedFrom = 0.1;

  void proved(bool right) {
    error_ += ((right ? 0.0 : 1.0) - error_) / kMemory;
    distrusted_ = distrusted_ ? error_ > kTrustedFrom : error_ > kDistrustedFrom;
  }
  [[nodiscard]] bool trusted() const { return !distrusted_; }
  [[nodiscard]] double error() const { return error_; }

  /// A reply's blocks came back, or not, as the beginning of the next prompt: they do not where the
  /// template drops reasoning, or where the reply's text does not give the tokens it came from.
  void reply_came_back(bool whole) {
    replies_ = whole ? (replies_ < kMostReplies ? replies_ + 1 : replies_)
                     : (replies_ > kReplyPenalty ? replies_ - kReplyPenalty : 0);
  }
  [[nodiscard]] bool trusts_replies() const { return replies_ >= kRepliesNeeded; }

 private:
  static constexpr double kMemory = 32.0;  // predictions
  static constexpr int kMostReplies = 16;
  static constexpr int kRepliesNeeded = 2;
  static constexpr int kReplyPenalty = 4;

  double error_ = 0.0;
  bool distrusted_ = false;
  int replies_ = 0;
};

/// By LearnedChains::Prompt::trust_id. Bounded: those beyond kMost share one.
class ChainTrusts {
 public:
  [[nodiscard]] ChainTrust& of(std::uint64_t trust_id) {
    return by_id_.size() < kMost || by_id_.contains(trust_id) ? by_id_[trust_id] : rest_;
  }
  [[nodiscard]] std::size_t distrusted() const {
    std::size_t count = rest_.trusted() ? 0 : 1;
    for (const auto& [id, trust] : by_id_) {
      count += trust.trusted() ? 0 : 1;
    }
    return count;
  }

 private:
  static constexpr std::size_t kMost = 1024;
  absl::flat_hash_map<std::uint64_t, ChainTrust> by_id_;
  ChainTrust rest_;
};

}  // namespace rolter::kvcache
