#pragma once

#include <cstdint>

#include "rolter/kvcache/edge_text.h"
#include "rolter/kvcache/mark_set.h"
#include "rolter/kvcache/slab.h"

namespace rolter::kvcache {

/// A node of the compressed tree and the edge that leads to it. A root has no marks and keeps its
/// 64-bit key where others keep their text.
struct Node {
  [[no_unique_address]] EdgeText text;
  std::uint32_t parent = kNoId;  // of a free cell: the next free one
  [[no_unique_address]] MarkSet marks;
  std::uint32_t depth = 0;         // bytes from the root to the end of the edge
  std::uint32_t children_xor = 0;  // all children's ids combined: with one child left, its id
  std::uint32_t ends = 0;          // replicas with a prompt that ends here
  std::uint32_t generation = 0;    // how often the cell was freed: tells a new tenant from an old
  std::uint16_t children = 0;      // how many
  char first = 0;                  // of text, so that finding a child need not touch the heap

  [[nodiscard]] bool is_root() const { return parent == kNoId; }
};

using NodeId = std::uint32_t;
using NodeSlab = Slab<Node, &Node::parent>;

static_assert(sizeof(Node) == 48);

}  // namespace rolter::kvcache
