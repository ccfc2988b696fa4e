#include "rolter/kvcache/group_filter.h"

#include <algorithm>

namespace rolter::kvcache {

GroupFilter::Verdict GroupFilter::judge_stored(const EventScope& scope, bool aligned) {
  if (scope.medium != Medium::kGpu) {
    return Verdict::kIgnore;
  }
  if (scope.kind == GroupKind::kPartial) {
    if (scope.group) {
      mark_partial(*scope.group);
    }
    return Verdict::kIgnore;
  }
  if (!aligned) {
    return scope.kind == GroupKind::kUnsaid ? judge_misaligned(scope) : Verdict::kIgnore;
  }
  if (scope.kind == GroupKind::kUnsaid && scope.group && is_partial(*scope.group)) {
    return Verdict::kIgnore;
  }
  if (!chosen_) {
    chosen_ = true;
    counted_ = scope.group;
  }
  if (counted_ != scope.group) {
    return Verdict::kIgnore;
  }
  misaligned_in_a_row_ = 0;
  return Verdict::kCounts;
}

GroupFilter::Verdict GroupFilter::judge_misaligned(const EventScope& scope) {
  if (!scope.group) {
    return Verdict::kIgnore;
  }
  if (!chosen_ || counted_ != scope.group) {
    mark_partial(*scope.group);
    return Verdict::kIgnore;
  }
  if (++misaligned_in_a_row_ < kMaxMisaligned) {
    return Verdict::kIgnore;
  }
  mark_partial(*scope.group);
  chosen_ = false;
  misaligned_in_a_row_ = 0;
  return Verdict::kWasWrong;
}

bool GroupFilter::counts_removed(const EventScope& scope) const {
  return scope.medium == Medium::kGpu && chosen_ && (!scope.group || scope.group == counted_);
}

bool GroupFilter::is_partial(std::uint32_t group) const {
  return std::ranges::find(partial_groups_, group) != partial_groups_.end();
}

void GroupFilter::mark_partial(std::uint32_t group) {
  if (!is_partial(group) && partial_groups_.size() < kMaxGroups) {
    partial_groups_.push_back(group);
  }
}

}  // namespace rolter::kvcache
