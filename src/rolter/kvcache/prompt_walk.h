#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "rolter/kvcache/prefix_tree.h"
#include "rolter/kvcache/radix_node.h"

namespace rolter::kvcache {

/// A prompt as the first bytes of an earlier one and what it has of its own.
struct WalkedPrompt {
  static constexpr std::uint32_t kNoBase = 0xffff'ffff;

  ReplicaSlot replica{};
  std::uint64_t root = 0;          // of one without a base; others have their base's
  std::uint32_t base = kNoBase;    // the number of an earlier prompt of the walk
  std::uint32_t shared_bytes = 0;  // with it
  std::string tail{};
};

/// Reads all prompts of a tree, the one inserted longest ago first, while others go on using it:
/// what comes or goes meanwhile may be in it or not. A byte that prompts share is read once. Holds
/// the tree's lock for one batch at a time, some 10 microseconds; about 20 bytes per node of the
/// tree meanwhile. One walk per tree at a time.
class PromptWalk {
 public:
  /// `tree` must outlive the walk.
  explicit PromptWalk(PrefixTree& tree);

  /// Replaces `batch` by the next prompts; empty at the end.
  void next(std::vector<WalkedPrompt>& batch);

 private:
  static constexpr std::size_t kBatch = 64;
  static constexpr std::size_t kBatchBytes = std::size_t{128} * 1024;

  [[nodiscard]] WalkedPrompt read(NodeId end, ReplicaSlot replica);

  PrefixTree& tree_;
  std::uint32_t count_ = 0;
  std::uint32_t most_ = 0;  // so many and no more, whatever comes meanwhile
  /// By a node's id and generation: a prompt that begins with the node's bytes.
  absl::flat_hash_map<std::uint64_t, std::uint32_t> passed_;
  std::vector<NodeId> own_;  // nodes of one prompt that none before it passes
};

}  // namespace rolter::kvcache
