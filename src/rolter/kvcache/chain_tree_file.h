#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "rolter/kvcache/chain_tree.h"

namespace rolter::kvcache {

/// A chain tree as bytes, to outlive the process: prompts one after the other, little-endian. What
/// reads them checks them, and passes over what does not fit together.
class ChainTreeFile {
 public:
  /// Appends some prompts, from the one that `cursor` names (0 at first) and up to about
  /// `most_bytes`. Returns false when these were the last. The tree may change between calls: a
  /// prompt whose beginning was taken away meanwhile is passed over when it is read.
  static bool save(const ChainTree& tree, ChainTree::NodeIndex& cursor, std::size_t most_bytes,
                   std::string& out);

  /// Adds what was saved, in one piece or in those of several calls, to a tree without prompts.
  /// False when a piece is not whole; what came before is kept.
  static bool load(std::span<const std::string_view> pieces, ChainTree& tree);
};

}  // namespace rolter::kvcache
