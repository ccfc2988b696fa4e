#pragma once

#include <cstddef>

namespace rolter::kvcache {

/// What an engine found of a prompt in its cache, beside what was expected; bytes of the prompt.
struct HitReport {
  std::size_t prompt_bytes = 0;
  std::size_t expected_bytes = 0;
  std::size_t found_bytes = 0;
};

/// How much of what a replica was sent it still holds, as learned from what it finds: less than
/// thought lowers the limit, more raises it, and as much raises it a little, so that a limit that
/// is too low is found out. There is none until the first prompt is missed. Replicas that never
/// report keep it off.
///
/// From four times too much the limit takes some 30 missed prompts; it settles where about one
/// prompt in 25 is missed.
class HeldLimit {
 public:
  /// `held_bytes` is what the tree holds for the replica now.
  void learn(const HitReport& report, std::size_t held_bytes);

  /// 0 = no limit.
  [[nodiscard]] std::size_t bytes() const { return static_cast<std::size_t>(bytes_); }

 private:
  double bytes_ = 0.0;
};

}  // namespace rolter::kvcache
