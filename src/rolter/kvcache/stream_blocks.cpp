#include "rolter/kvcache/stream_blocks.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "rolter/kvcache/stream_eviction.h"

namespace rolter::kvcache {
namespace {

constexpr std::size_t kMaxAdapters = 1024;
constexpr std::size_t kMaxParkedBlocks = 16'384;

// A stream's share of blocks that wait for their parent.
std::size_t parking_space(const StreamOptions& options) {
  return std::min(kMaxParkedBlocks, options.max_blocks / 16 + 1);
}

std::uint64_t name_hash(std::string_view name) {
  return std::to_underlying(mix_extra(ExtraDigest::kNone, ExtraKind::kAdapter, name));
}

}  // namespace

StreamBlocks::StreamBlocks(StreamId id, const StreamOptions& options, BlockListener* listener)
    : id_(id),
      options_(options),
      listener_(listener),
      parked_(parking_space(options)),
      block_size_(options.block_size),
      age_granularity_(std::max<std::uint64_t>(1, options.max_blocks >> 16)) {}

std::size_t StreamBlocks::position_of(EngineHash hash) const {
  return blocks_.find(EngineBlock::spread_of(hash),
                      [hash](const EngineBlock& block) { return block.hash == hash; });
}

std::uint32_t StreamBlocks::copies(EngineHash hash) const {
  const std::size_t position = position_of(hash);
  return position == blocks_.kNone ? 0 : blocks_[position].copies;
}

bool StreamBlocks::knows_adapter(std::string_view name) const {
  return std::ranges::find(adapters_, name_hash(name)) != adapters_.end();
}

void StreamBlocks::stored(const BlockStored& event, TableWriter& writer) {
  if (!accept_shape(event, writer)) {
    ++counters_.ignored_events;
    return;
  }
  if (event.hashes.empty()) {
    return;
  }
  if (event.parent && std::ranges::find(event.hashes, *event.parent) != event.hashes.end()) {
    ++counters_.conflicting_events;
    return;
  }
  if (!event.adapter.empty()) {
    learn_adapter(event.adapter, writer);
  }
  place(event, writer);
  enforce_bound(writer);
}

bool StreamBlocks::accept_shape(const BlockStored& event, TableWriter& writer) {
  const std::size_t tokens = event.tokens.size();
  const std::size_t hashes = event.hashes.size();
  std::size_t block_size = event.block_size;
  if (block_size == 0 && hashes > 0) {
    block_size = tokens / hashes;
  }
  const bool aligned = block_size > 0 && tokens == hashes * block_size;
  const GroupFilter::Verdict verdict = groups_.judge_stored(event.scope, aligned);
  hybrid_.store(groups_.hybrid(), std::memory_order_relaxed);
  if (verdict == GroupFilter::Verdict::kWasWrong) {
    forget_blocks(writer);
    block_size_.store(options_.block_size, std::memory_order_relaxed);
  }
  if (verdict != GroupFilter::Verdict::kCounts || hashes == 0) {
    return verdict == GroupFilter::Verdict::kCounts;
  }
  const std::uint32_t known = this->block_size();
  if (options_.block_size == 0 && block_size > known) {
    // Entries for parts of a block (prefix_match_unit) are smaller than the real size, so the
    // largest size seen is the one, and what was learned under a smaller one was wrong.
    if (known != 0) {
      forget_blocks(writer);
    }
    block_size_.store(static_cast<std::uint32_t>(block_size), std::memory_order_relaxed);
    return true;
  }
  return block_size == known;
}

void StreamBlocks::learn_adapter(std::string_view name, TableWriter& writer) {
  if (adapters_.size() < kMaxAdapters && !knows_adapter(name)) {
    writer.exclusively([&] { adapters_.push_back(name_hash(name)); });
  }
}

StreamBlocks::Base StreamBlocks::base_after(std::size_t position, const BlockTable& table) const {
  const BlockId node = blocks_[position].node;
  return {.key = table.key(node), .depth = table.depth(node) + 1};
}

/// Finds where the event's blocks belong: after their parent, or, when that is gone, from the first
/// block on that is known itself. What has no place is parked.
void StreamBlocks::place(const BlockStored& event, TableWriter& writer) {
  if (!event.parent) {
    counters_.conflicting_events += attach(event, 0, {}, writer) ? 0 : 1;
    return;
  }
  if (const std::size_t parent = position_of(*event.parent); parent != blocks_.kNone) {
    const Base base = base_after(parent, writer.table());
    counters_.conflicting_events += attach(event, 0, base, writer) ? 0 : 1;
    return;
  }
  for (std::size_t i = 0; i < event.hashes.size(); ++i) {
    if (const std::size_t known = position_of(event.hashes[i]); known != blocks_.kNone) {
      park(event, 0, i);
      const BlockId node = blocks_[known].node;
      const Base base{.key = writer.table().parent(node), .depth = writer.table().depth(node)};
      counters_.conflicting_events += attach(event, i, base, writer) ? 0 : 1;
      return;
    }
  }
  park(event, 0, event.hashes.size());
}

bool StreamBlocks::attach(const BlockStored& event, std::size_t first, Base base,
                          TableWriter& writer) {
  const std::size_t count = event.hashes.size();
  const std::uint32_t block_size = this->block_size();
  const ChainKey parent = base.key;
  const std::uint32_t depth = base.depth;
  blocks_.reserve_for(count - first);
  writer.reserve(count - first);
  keys_.resize(count - first);
  ChainKey key = base.key;
  for (std::size_t i = first; i < count; ++i) {
    blocks_.prefetch(EngineBlock::spread_of(event.hashes[i]));
    key = extend_chain(key, event.tokens.subspan(i * block_size, block_size),
                       event.extras.empty() ? ExtraDigest::kNone : event.extras[i]);
    writer.table().prefetch_slot(key);
    keys_[i - first] = key;
  }
  constexpr std::size_t kAhead = 4;
  for (std::size_t i = first; i < count; ++i) {
    if (i + kAhead < count) {
      std::ignore = writer.table().prefetch_node(keys_[i + kAhead - first]);
    }
    if (!add_copies(event.hashes[i], 1, keys_[i - first], base, writer)) {
      while (i-- > first) {
        remove_copy(position_of(event.hashes[i]), writer);
      }
      return false;
    }
    base = {.key = keys_[i - first], .depth = base.depth + 1};
  }
  counters_.stored += count - first;
  if (listener_ != nullptr) {
    writer.release();
    listener_->on_stored({.stream = id_,
                          .keys = keys_,
                          .parent = parent,
                          .depth = depth,
                          .session_id = event.session_id,
                          .replica = options_.replica,
                          .block_size = block_size,
                          .hybrid = hybrid(),
                          .table = &writer.table()});
  }
  for (std::size_t i = first; i < count && !parked_.empty(); ++i) {
    adopt_children(event.hashes[i], writer);
  }
  return true;
}

void StreamBlocks::park(const BlockStored& event, std::size_t first, std::size_t last) {
  const std::uint32_t block_size = this->block_size();
  EngineHash parent = *event.parent;
  for (std::size_t i = first; i < last; ++i) {
    parked_.park(event.hashes[i], parent, event.tokens.subspan(i * block_size, block_size),
                 event.extras.empty() ? ExtraDigest::kNone : event.extras[i]);
    parent = event.hashes[i];
  }
  counters_.parked += last - first;
  counters_.parked_dropped = parked_.dropped();
}

/// False when the hash stands for other content already.
bool StreamBlocks::add_copies(EngineHash hash, std::uint32_t copies, ChainKey key, Base base,
                              TableWriter& writer) {
  const std::uint32_t age = age_now();
  ++store_clock_;
  const std::size_t position =
      blocks_.probe(EngineBlock::spread_of(hash),
                    [hash](const EngineBlock& block) { return block.hash == hash; });
  if (!blocks_[position].vacant()) {
    EngineBlock& block = blocks_[position];
    if (writer.table().key(block.node) != key) {
      return false;
    }
    block.copies = std::min(EngineBlock::kMaxCopies, block.copies + copies);
    block.age = age;
    return true;
  }
  const auto [node, fresh] =
      writer.add(key, base.key, base.depth, HolderBit{std::to_underlying(id_)});
  if (!fresh) {
    ++aliases_[node];
  }
  EngineBlock block{.hash = hash, .node = node};
  block.copies = std::min(EngineBlock::kMaxCopies, copies);
  block.age = age;
  blocks_.insert_at(position, block);
  return true;
}

void StreamBlocks::adopt_children(EngineHash parent, TableWriter& writer) {
  std::vector<EngineHash> parents{parent};
  while (!parents.empty()) {
    const EngineHash hash = parents.back();
    parents.pop_back();
    while (auto child = parked_.take_child_of(hash)) {
      const Base base = base_after(position_of(hash), writer.table());
      const ChainKey key = extend_chain(base.key, child->tokens, child->extra);
      blocks_.reserve_for(1);
      writer.reserve(1);
      if (!add_copies(child->hash, child->copies, key, base, writer)) {
        ++counters_.conflicting_events;
        continue;
      }
      counters_.stored += child->copies;
      if (listener_ != nullptr) {
        listener_->on_stored({.stream = id_,
                              .keys = {&key, 1},
                              .parent = base.key,
                              .depth = base.depth,
                              .session_id = {},
                              .replica = options_.replica,
                              .block_size = block_size(),
                              .table = &writer.table()});
      }
      parents.push_back(child->hash);
    }
  }
}

void StreamBlocks::removed(const BlockRemoved& event, TableWriter& writer) {
  if (!groups_.counts_removed(event.scope)) {
    ++counters_.ignored_events;
    return;
  }
  constexpr std::size_t kAhead = 8;
  for (std::size_t i = 0; i < event.hashes.size(); ++i) {
    if (i + kAhead < event.hashes.size()) {
      blocks_.prefetch(EngineBlock::spread_of(event.hashes[i + kAhead]));
    }
    const EngineHash hash = event.hashes[i];
    if (const std::size_t position = position_of(hash); position != blocks_.kNone) {
      remove_copy(position, writer);
      ++counters_.removed;
    } else if (!parked_.remove_copy(hash)) {
      ++counters_.unknown_removals;
    }
  }
}

void StreamBlocks::remove_copy(std::size_t position, TableWriter& writer) {
  if (blocks_[position].copies > 1) {
    --blocks_[position].copies;
  } else {
    erase(position, writer);
  }
}

void StreamBlocks::erase(std::size_t position, TableWriter& writer) {
  const BlockId node = blocks_[position].node;
  blocks_.erase(position);
  if (!aliases_.empty()) {
    if (const auto alias = aliases_.find(node); alias != aliases_.end()) {
      if (--alias->second == 0) {
        aliases_.erase(alias);
      }
      return;
    }
  }
  const ChainKey key = writer.table().key(node);
  writer.remove(node, HolderBit{std::to_underlying(id_)});
  if (listener_ != nullptr) {
    listener_->on_removed(id_, key);
  }
}

void StreamBlocks::clear(TableWriter& writer) {
  forget_blocks(writer);
  ++counters_.cleared;
}

void StreamBlocks::restart(TableWriter& writer) {
  clear(writer);
  groups_ = GroupFilter();
  hybrid_.store(false, std::memory_order_relaxed);
  block_size_.store(options_.block_size, std::memory_order_relaxed);
  writer.exclusively([this] { adapters_.clear(); });
}

void StreamBlocks::forget_blocks(TableWriter& writer) {
  for (const EngineBlock& block : blocks_.slots()) {
    if (!block.vacant() && writer.table().holds(block.node, HolderBit{std::to_underlying(id_)})) {
      writer.remove(block.node, HolderBit{std::to_underlying(id_)});
    }
  }
  blocks_ = {};
  aliases_.clear();
  parked_.clear();
  if (listener_ != nullptr) {
    listener_->on_cleared(id_);
  }
}

/// Gives up an eighth of the bound at once, so that the work of finding the oldest leaves is shared
/// by many blocks.
void StreamBlocks::enforce_bound(TableWriter& writer) {
  if (blocks_.size() <= options_.max_blocks) {
    return;
  }
  const std::size_t keep = options_.max_blocks - options_.max_blocks / 8;
  writer.release();
  for (const EngineHash victim :
       plan_eviction(blocks_.slots(), writer.table(), blocks_.size() - keep)) {
    erase(position_of(victim), writer);
    ++counters_.evicted;
  }
}

std::uint32_t StreamBlocks::age_now() {
  constexpr std::uint64_t kHalf = (EngineBlock::kMaxAge + std::uint64_t{1}) / 2;
  if (store_clock_ / age_granularity_ > EngineBlock::kMaxAge) {
    for (EngineBlock& block : blocks_.slots()) {
      block.age = block.age > kHalf ? static_cast<std::uint32_t>(block.age - kHalf) : 0;
    }
    store_clock_ -= kHalf * age_granularity_;
  }
  return static_cast<std::uint32_t>(store_clock_ / age_granularity_);
}

}  // namespace rolter::kvcache
