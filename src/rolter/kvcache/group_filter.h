#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "rolter/kvcache/kv_event.h"

namespace rolter::kvcache {

/// Decides which events of one engine say "this prefix is resident".
///
/// Only blocks in GPU memory, and only those of one KV-cache group that keeps whole prefixes (full
/// attention or MLA): the same hash is announced once per group, and the groups of sliding windows
/// and Mamba layers keep the last blocks or checkpoints only. Engines that do not name the kind of
/// a group (vLLM < 0.22) give it away by listing fewer hashes than their tokens fill.
class GroupFilter {
 public:
  enum class Verdict : std::uint8_t {
    kCounts,
    kIgnore,
    kWasWrong,  // the group counted until now turns out to keep windows only: forget its blocks
  };

  /// `aligned`: the tokens fill exactly the blocks that the event lists.
  [[nodiscard]] Verdict judge_stored(const EventScope& scope, bool aligned);
  [[nodiscard]] bool counts_removed(const EventScope& scope) const;

  /// Some group keeps windows only: a prefix may be unusable although all its blocks are resident,
  /// unless it ends where an earlier request ended.
  [[nodiscard]] bool hybrid() const { return !partial_groups_.empty(); }

 private:
  static constexpr std::size_t kMaxGroups = 64;
  // In a row, before a group of unsaid kind is given up: one odd event must not cost its blocks.
  static constexpr std::uint32_t kMaxMisaligned = 3;

  [[nodiscard]] Verdict judge_misaligned(const EventScope& scope);
  [[nodiscard]] bool is_partial(std::uint32_t group) const;
  void mark_partial(std::uint32_t group);

  bool chosen_ = false;
  std::optional<std::uint32_t> counted_;  // once chosen_; absent: the engine names no groups
  std::uint32_t misaligned_in_a_row_ = 0;
  std::vector<std::uint32_t> partial_groups_;
};

}  // namespace rolter::kvcache
