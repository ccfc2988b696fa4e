#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <shared_mutex>

#include "rolter/kvcache/block_table.h"

namespace rolter::kvcache {

/// The one way to change a BlockTable that others read: takes the lock exclusively for at most
/// kBlocksPerHold changes at a time (some microseconds), so that a large batch of events does not
/// hold up the lookups of the event loops, and grows the index beside it without the lock.
///
/// There is one writer at a time. It may read the table without the lock, as nobody else changes
/// it.
class TableWriter {
 public:
  static constexpr std::size_t kBlocksPerHold = 64;

  TableWriter(BlockTable& table, std::shared_mutex& mutex)
      : table_(table), lock_(mutex, std::defer_lock) {}

  [[nodiscard]] const BlockTable& table() const { return table_; }

  /// Makes room for `blocks` more nodes. To be called before add().
  void reserve(std::size_t blocks) {
    if (!table_.has_room_for(blocks)) {
      release();
      BlockTable::Index larger = table_.index_grown_for(blocks);
      hold();
      table_.replace_index(std::move(larger));
      release();
    }
  }

  struct Added {
    BlockId node;
    bool fresh;  // the holder did not have the block before
  };
  Added add(ChainKey key, ChainKey parent, std::uint32_t depth, HolderBit holder) {
    hold();
    const BlockId node = table_.find_or_add(key, parent, depth);
    const bool fresh = table_.add_holder(node, holder);
    count();
    return {node, fresh};
  }

  void remove(BlockId node, HolderBit holder) {
    hold();
    table_.remove_holder(node, holder);
    count();
  }

  /// Lets readers in; the next change takes the lock again.
  void release() {
    if (lock_.owns_lock()) {
      lock_.unlock();
      changes_ = 0;
    }
  }

  /// Runs `change` with the lock held.
  template <typename Change>
  void exclusively(Change change) {
    hold();
    change();
    count();
  }

 private:
  void hold() {
    if (!lock_.owns_lock()) {
      lock_.lock();
    }
  }
  void count() {
    if (++changes_ >= kBlocksPerHold) {
      release();
    }
  }

  BlockTable& table_;
  std::unique_lock<std::shared_mutex> lock_;
  std::size_t changes_ = 0;
};

}  // namespace rolter::kvcache
