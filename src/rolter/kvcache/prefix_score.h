#pragma once

#include <cstddef>
#include <span>

#include "rolter/base/ids.h"
#include "rolter/kvcache/prefix_tree.h"
#include "rolter/kvcache/radix_tree.h"

namespace rolter::kvcache {

/// Fills matched_bytes for the replicas of a finished walk. Climbs from the deepest node and reads
/// only the marks of nodes where some replica's prompts part from the text: a replica marked below
/// is marked above, so that nodes with as many marks as the one below have nothing new.
void score_replicas(const RadixTree& tree, RadixTree::Reach reach,
                    std::span<const ReplicaSlot> replicas, std::span<std::size_t> matched_bytes,
                    PrefixTree::Scope scope);

}  // namespace rolter::kvcache
