#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "rolter/base/ids.h"
#include "rolter/kvcache/prefix_tree.h"
#include "rolter/kvcache/radix_tree.h"

namespace rolter::kvcache {

/// PrefixTree::match() and match_best() for a finished walk. Both climb from the deepest node and
/// read only the marks of nodes where some replica's prompts part from the text: a replica marked
/// below is marked above, so that a node with as many marks as the one below has nothing new.
void score_all(const RadixTree& tree, RadixTree::Reach reach, std::span<const ReplicaSlot> replicas,
               std::span<std::size_t> matched_bytes);

[[nodiscard]] PrefixTree::BestMatch score_best(const RadixTree& tree, RadixTree::Reach reach,
                                               std::span<const ReplicaSlot> replicas,
                                               std::span<std::uint32_t> holders);

}  // namespace rolter::kvcache
