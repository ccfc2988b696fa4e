#pragma once

#include <algorithm>
#include <cstddef>

namespace rolter::kvcache {

/// What an engine found of a prompt in its cache, beside what was expected; bytes of the prompt.
struct HitReport {
  std::size_t prompt_bytes = 0;
  std::size_t expected_bytes = 0;
  std::size_t found_bytes = 0;
  std::size_t held_bytes = 0;  // by the tree, for the replica, when that was expected; 0 = as now
};

/// How much of what a replica was sent it still holds, as learned from what it finds: less than
/// thought lowers the limit, more raises it, and as much raises it a little, so that a limit that
/// is too low is found out. There is none until the first prompt is missed. Replicas that never
/// report keep it off.
///
/// A miss says something of the tree as it was when the prompt was expected, and lowers the limit
/// to a little less than that and no further: hundreds of requests may have been on their way with
/// the same wrong picture. Little is a twentieth, up to a fifth while most prompts are missed. From
/// four times too much that takes seven rounds of requests; the limit settles where about one
/// prompt in 25 is missed.
class HeldLimit {
 public:
  /// `held_bytes` is what the tree holds for the replica now.
  void learn(const HitReport& report, std::size_t held_bytes);

  /// More than any engine holds, and the most that a double counts by ones.
  static constexpr std::size_t kMost = std::size_t{1} << 53;

  /// As if that had been learned, at most kMost; 0 = no limit.
  void set(std::size_t bytes) { bytes_ = static_cast<double>(std::min(bytes, kMost)); }

  /// 0 = no limit.
  [[nodiscard]] std::size_t bytes() const { return static_cast<std::size_t>(bytes_); }

 private:
  double bytes_ = 0.0;
  double missing_ = 0.0;  // share that was missed of the last prompts from which some was expected
};

}  // namespace rolter::kvcache
