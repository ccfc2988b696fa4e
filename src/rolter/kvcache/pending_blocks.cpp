#include "rolter/kvcache/pending_blocks.h"

#include <algorithm>
#include <utility>

#include "rolter/kvcache/common_length.h"

namespace rolter::kvcache {
PendingBlocks::Ticket PendingBlocks::add(StreamId stream, std::span<const ChainKey> chain,
                                         TimePoint now) {
  if (chain.empty()) {
    return Ticket::kNone;
  }
  const std::lock_guard lock(mutex_);
  expire(now);
  const std::size_t live = live_.load(std::memory_order_relaxed);
  if (live >= limits_.max_chains || blocks_ + chain.size() > limits_.max_blocks) {
    ++refused_;
    return Ticket::kNone;
  }
  if (free_chains_.empty()) {
    free_chains_.push_back(static_cast<std::uint32_t>(chains_.size()));
    chains_.emplace_back();
  }
  const std::uint32_t place = free_chains_.back();
  free_chains_.pop_back();
  const std::size_t of_stream = std::to_underlying(stream);
  if (chains_of_.size() <= of_stream) {
    chains_of_.resize(of_stream + 1);
    depth_of_.resize(of_stream + 1);
  }
  Chain& added = chains_[place];
  ++added.generation;
  added.stream = stream;
  added.last = insert(stream, chain);
  ++chains_of_[of_stream];
  live_.store(live + 1, std::memory_order_relaxed);
  return Ticket{std::uint64_t{added.generation} << 32 | place};
}

void PendingBlocks::answered(Ticket ticket, TimePoint now) {
  if (ticket == Ticket::kNone) {
    return;
  }
  const std::lock_guard lock(mutex_);
  if (find(ticket) != nullptr) {
    endings_.push_back({.ticket = ticket, .at = now + kAfterAnswer});
  }
  expire(now);
}

void PendingBlocks::undo(Ticket ticket) {
  if (ticket == Ticket::kNone) {
    return;
  }
  const std::lock_guard lock(mutex_);
  if (Chain* const chain = find(ticket); chain != nullptr) {
    end(*chain);
  }
}

void PendingBlocks::evicted(StreamId stream) {
  if (live_.load(std::memory_order_relaxed) == 0) {
    return;
  }
  const std::lock_guard lock(mutex_);
  const std::size_t of_stream = std::to_underlying(stream);
  for (std::size_t i = 0; of_stream < chains_of_.size() && chains_of_[of_stream] > 0; ++i) {
    if (chains_[i].last != kNone && chains_[i].stream == stream) {
      end(chains_[i]);
    }
  }
}

bool PendingBlocks::lookup(std::span<const ChainKey> chain, std::span<const StreamId> streams,
                           TimePoint now, std::span<std::uint32_t> blocks) {
  if (live_.load(std::memory_order_relaxed) == 0) {
    return false;
  }
  const std::lock_guard lock(mutex_);
  expire(now);
  const NodeIndex first = note_depths(chain);
  for (std::size_t i = 0; i < streams.size(); ++i) {
    const std::size_t stream = std::to_underlying(streams[i]);
    blocks[i] = stream < depth_of_.size() ? depth_of_[stream] : 0;
  }
  if (first != kNone) {
    for (const Holder& holder : nodes_[first].holders) {  // the later ones' are among them
      depth_of_[std::to_underlying(holder.stream)] = 0;
    }
  }
  return true;
}

/// Writes into depth_of_ how far each stream's chains go along this one. Returns the first node.
PendingBlocks::NodeIndex PendingBlocks::note_depths(std::span<const ChainKey> chain) {
  NodeIndex first = kNone;
  NodeIndex last = kNone;
  std::size_t depth = 0;
  while (depth < chain.size()) {
    const NodeIndex next = child(last, chain[depth]);
    if (next == kNone) {
      break;
    }
    const Node& node = nodes_[next];
    const std::size_t common = common_length(node.keys, chain.subspan(depth));
    depth += common;
    for (const Holder& holder : node.holders) {
      depth_of_[std::to_underlying(holder.stream)] = static_cast<std::uint32_t>(depth);
    }
    first = first == kNone ? next : first;
    if (common < node.keys.size()) {
      break;
    }
    last = next;
  }
  return first;
}

std::size_t PendingBlocks::chains_at(StreamId stream) const {
  if (live_.load(std::memory_order_relaxed) == 0) {
    return 0;
  }
  const std::lock_guard lock(mutex_);
  const std::size_t of_stream = std::to_underlying(stream);
  return of_stream < chains_of_.size() ? chains_of_[of_stream] : 0;
}

PendingBlocks::Stats PendingBlocks::stats() const {
  const std::lock_guard lock(mutex_);
  return {.chains = live_.load(std::memory_order_relaxed), .blocks = blocks_, .refused = refused_};
}

PendingBlocks::NodeIndex PendingBlocks::child(NodeIndex parent, ChainKey first) const {
  const auto found = by_first_key_.find(first);
  // Another parent: two chains whose keys collide.
  return found == by_first_key_.end() || nodes_[found->second].parent != parent ? kNone
                                                                                : found->second;
}

/// Makes every node along the chain count one more; returns the last one.
PendingBlocks::NodeIndex PendingBlocks::insert(StreamId stream, std::span<const ChainKey> chain) {
  NodeIndex last = kNone;
  while (!chain.empty()) {
    NodeIndex next = child(last, chain.front());
    std::size_t common = chain.size();
    if (next != kNone) {
      common = common_length(nodes_[next].keys, chain);
      if (common < nodes_[next].keys.size()) {
        next = split(next, common);
      }
    } else if (last != kNone && by_first_key_.contains(chain.front())) {
      return last;  // keys that collide: the chain counts up to here
    } else {
      next = append(last, chain);
    }
    hold(nodes_[next], stream);
    chain = chain.subspan(common);
    last = next;
  }
  return last;
}

PendingBlocks::NodeIndex PendingBlocks::append(NodeIndex parent, std::span<const ChainKey> keys) {
  if (free_nodes_.empty()) {
    free_nodes_.push_back(static_cast<NodeIndex>(nodes_.size()));
    nodes_.emplace_back();
  }
  const NodeIndex made = free_nodes_.back();
  free_nodes_.pop_back();
  nodes_[made].keys.assign(keys.begin(), keys.end());
  nodes_[made].parent = parent;
  blocks_ += keys.size();
  by_first_key_.insert_or_assign(keys.front(), made);
  return made;
}

/// Divides a node after `length` keys; returns the upper part. The lower one keeps the name under
/// which children and chains know the node.
PendingBlocks::NodeIndex PendingBlocks::split(NodeIndex node, std::size_t length) {
  const std::vector<ChainKey> keys = std::move(nodes_[node].keys);
  blocks_ -= length;  // append() counts them again
  const NodeIndex upper = append(nodes_[node].parent, std::span(keys).first(length));
  Node& lower = nodes_[node];
  nodes_[upper].holders = lower.holders;
  lower.keys.assign(keys.begin() + static_cast<std::ptrdiff_t>(length), keys.end());
  lower.parent = upper;
  by_first_key_.insert_or_assign(lower.keys.front(), node);
  return upper;
}

void PendingBlocks::hold(Node& node, StreamId stream) {
  const auto holder = std::ranges::find(node.holders, stream, &Holder::stream);
  if (holder == node.holders.end()) {
    node.holders.push_back({.stream = stream, .chains = 1});
  } else {
    ++holder->chains;
  }
}

void PendingBlocks::release(NodeIndex node, StreamId stream) {
  std::vector<Holder>& holders = nodes_[node].holders;
  const auto holder = std::ranges::find(holders, stream, &Holder::stream);
  if (--holder->chains > 0) {
    return;
  }
  *holder = holders.back();
  holders.pop_back();
  if (holders.empty()) {
    blocks_ -= nodes_[node].keys.size();
    by_first_key_.erase(nodes_[node].keys.front());
    nodes_[node] = {};
    free_nodes_.push_back(node);
  }
}

PendingBlocks::Chain* PendingBlocks::find(Ticket ticket) {
  const std::uint64_t number = std::to_underlying(ticket);
  const std::size_t place = number & 0xffffffffU;
  if (place >= chains_.size() || chains_[place].last == kNone ||
      chains_[place].generation != number >> 32) {
    return nullptr;
  }
  return &chains_[place];
}

void PendingBlocks::end(Chain& chain) {
  for (NodeIndex node = std::exchange(chain.last, kNone); node != kNone;) {
    const NodeIndex parent = nodes_[node].parent;
    release(node, chain.stream);
    node = parent;
  }
  --chains_of_[std::to_underlying(chain.stream)];
  free_chains_.push_back(static_cast<std::uint32_t>(&chain - chains_.data()));
  live_.store(live_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
}

void PendingBlocks::expire(TimePoint now) {
  while (!endings_.empty() && endings_.front().at <= now) {
    const Ticket ticket = endings_.front().ticket;
    endings_.pop_front();
    if (Chain* const chain = find(ticket); chain != nullptr) {
      end(*chain);
    }
  }
}

}  // namespace rolter::kvcache
