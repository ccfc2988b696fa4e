#include "rolter/kvcache/prompt_walk.h"

#include <algorithm>
#include <mutex>
#include <ranges>

#include "rolter/kvcache/prefix_tree_impl.h"

namespace rolter::kvcache {

PromptWalk::PromptWalk(PrefixTree& tree) : tree_(tree) {
  const std::lock_guard lock(tree_.impl_->mutex);
  tree_.impl_->ages.begin_walk();
  most_ = static_cast<std::uint32_t>(
      std::min<std::size_t>(2 * tree_.impl_->ages.size(), WalkedPrompt::kNoBase - 1));
}

void PromptWalk::next(std::vector<WalkedPrompt>& batch) {
  batch.clear();
  PrefixTree::Impl& tree = *tree_.impl_;
  const std::lock_guard lock(tree.mutex);
  for (std::size_t bytes = 0; batch.size() < kBatch && bytes < kBatchBytes && count_ < most_;) {
    const PromptId id = tree.ages.next_of_walk();
    if (id == kNoId) {
      return;
    }
    batch.push_back(read(tree.ages[id].end, tree.ages[id].replica));
    bytes += batch.back().tail.size();
    ++count_;
  }
}

WalkedPrompt PromptWalk::read(NodeId end, ReplicaSlot replica) {
  const RadixTree& radix = tree_.impl_->radix;
  const auto name = [&radix](NodeId id) {
    return std::uint64_t{radix.node(id).generation} << 32 | id;
  };
  WalkedPrompt prompt{.replica = replica};
  own_.clear();
  NodeId at = end;
  for (; !radix.node(at).is_root(); at = radix.node(at).parent) {
    if (const auto base = passed_.find(name(at)); base != passed_.end()) {
      prompt.base = base->second;
      prompt.shared_bytes = radix.node(at).depth;
      break;
    }
    own_.push_back(at);
  }
  if (prompt.base == WalkedPrompt::kNoBase) {
    prompt.root = radix.spell(end, prompt.tail);
  } else {
    for (const NodeId node : std::views::reverse(own_)) {
      prompt.tail += radix.node(node).text.view();
    }
  }
  for (const NodeId node : own_) {
    passed_.emplace(name(node), count_);
  }
  return prompt;
}

}  // namespace rolter::kvcache
