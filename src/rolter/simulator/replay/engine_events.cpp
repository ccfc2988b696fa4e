#include "rolter/simulator/replay/engine_events.h"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>

#include "rolter/simulator/replay/shrunk_blocks.h"

namespace rolter::simulator::replay {
namespace {

kvcache::EngineHash hash_of(BlockId block) {
  return kvcache::EngineHash{std::uint64_t{block} + 1};
}

}  // namespace

EngineEvents::EngineEvents(std::shared_ptr<kvcache::Residency> residency, std::size_t replicas,
                           Duration lag)
    : residency_(std::move(residency)), lag_(lag) {
  for (std::size_t i = 0; i < replicas; ++i) {
    const auto stream = residency_->index.add_stream(
        {.replica = ReplicaSlot{static_cast<std::uint32_t>(i)}, .block_size = kShrunkBlockTokens});
    if (!stream) {
      throw std::length_error(stream.error().message);
    }
    residency_->index.set_usable(*stream, true);
    streams_.push_back(*stream);
  }
}

void EngineEvents::changed(std::size_t replica, std::span<const BlockId> chain,
                           const CacheChange& change, TimePoint now) {
  if (change.stored.empty() && change.removed.empty()) {
    return;
  }
  Message message{.due = now + lag_,
                  .replica = replica,
                  .stored = change.stored,
                  .parent = {},
                  .removed = change.removed};
  // A resident block's prefix is resident, so what is new is the end of the chain.
  if (change.stored.size() < chain.size()) {
    message.parent = chain[chain.size() - change.stored.size() - 1];
  }
  under_way_.push_back(std::move(message));
}

void EngineEvents::deliver(TimePoint now) {
  while (!under_way_.empty() && under_way_.front().due <= now) {
    apply(under_way_.front());
    under_way_.pop_front();
  }
}

void EngineEvents::apply(const Message& message) {
  auto batch = residency_->index.begin(streams_[message.replica]);
  if (!message.stored.empty()) {
    tokens_.clear();
    hashes_.clear();
    for (const BlockId block : message.stored) {
      append_tokens(block, tokens_);
      hashes_.push_back(hash_of(block));
    }
    batch.stored({.hashes = hashes_,
                  .parent = message.parent ? std::optional(hash_of(*message.parent)) : std::nullopt,
                  .tokens = tokens_,
                  .block_size = kShrunkBlockTokens});
  }
  if (!message.removed.empty()) {
    hashes_.clear();
    std::ranges::transform(message.removed, std::back_inserter(hashes_), hash_of);
    batch.removed({.hashes = hashes_});
  }
}

}  // namespace rolter::simulator::replay
