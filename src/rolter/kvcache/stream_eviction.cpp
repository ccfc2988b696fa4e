#include "rolter/kvcache/stream_eviction.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>

namespace rolter::kvcache {
namespace {

struct Leaf {
  std::uint32_t age;
  std::uint32_t height;  // the deeper the block, the smaller
  BlockId node;

  friend auto operator<=>(const Leaf&, const Leaf&) = default;
};

struct Family {
  EngineHash hash{};
  std::uint32_t age = 0;
  std::uint32_t children = 0;
};

}  // namespace

std::vector<EngineHash> plan_eviction(std::span<const EngineBlock> blocks, const BlockTable& table,
                                      std::size_t count) {
  absl::flat_hash_map<BlockId, Family> families;
  families.reserve(blocks.size());
  for (const EngineBlock& block : blocks) {
    if (!block.vacant()) {
      families.try_emplace(block.node, Family{.hash = block.hash, .age = block.age});
    }
  }
  const auto family_of_parent = [&](BlockId node) {
    const BlockId parent = table.find(table.parent(node));
    return parent == kNoBlock ? families.end() : families.find(parent);
  };
  for (const auto& [node, family] : families) {
    if (const auto parent = family_of_parent(node); parent != families.end()) {
      ++parent->second.children;
    }
  }
  const auto leaf_at = [&](BlockId node, const Family& family) {
    return Leaf{.age = family.age, .height = ~table.depth(node), .node = node};
  };
  std::priority_queue<Leaf, std::vector<Leaf>, std::greater<>> leaves;
  for (const auto& [node, family] : families) {
    if (family.children == 0) {
      leaves.push(leaf_at(node, family));
    }
  }
  std::vector<EngineHash> victims;
  victims.reserve(count);
  while (victims.size() < count && !leaves.empty()) {
    const BlockId node = leaves.top().node;
    leaves.pop();
    victims.push_back(families.at(node).hash);
    const auto parent = family_of_parent(node);
    if (parent != families.end() && --parent->second.children == 0) {
      leaves.push(leaf_at(parent->first, parent->second));
    }
  }
  return victims;
}

}  // namespace rolter::kvcache
