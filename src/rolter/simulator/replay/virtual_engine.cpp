#include "rolter/simulator/replay/virtual_engine.h"

#include <algorithm>

namespace rolter::simulator::replay {
namespace {

double in_seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

std::size_t hit_tokens(const TraceCall& call, std::size_t leading_blocks) {
  return call.input_tokens == 0
             ? 0
             : std::min(leading_blocks * kTraceBlockTokens, call.input_tokens - 1);
}

VirtualEngine::VirtualEngine(const EngineShape& shape, std::size_t known_blocks)
    : shape_(shape), cache_(shape.blocks, known_blocks), awaited_(known_blocks, 0) {}

std::size_t VirtualEngine::expected_blocks(std::span<const BlockId> chain) const {
  const auto missing = std::ranges::find_if(
      chain, [this](BlockId block) { return awaited_[block] == 0 && !cache_.holds(block); });
  return static_cast<std::size_t>(missing - chain.begin());
}

Duration VirtualEngine::prefill_time(std::size_t tokens) const {
  return shape_.prefill_overhead +
         std::chrono::duration_cast<Duration>(
             std::chrono::duration<double>(static_cast<double>(tokens) / shape_.prefill_tps));
}

Duration VirtualEngine::queue_time(TimePoint now) const {
  return waiting_time_ + (computing_ ? busy_until_ - now : Duration::zero());
}

double VirtualEngine::queued_tokens(TimePoint now) const {
  const double computing = computing_ ? in_seconds(busy_until_ - now) * shape_.prefill_tps : 0.0;
  return static_cast<double>(waiting_tokens_) + computing;
}

void VirtualEngine::arrive(RequestId request, const TraceCall& call) {
  const std::size_t uncached = call.input_tokens - hit_tokens(call, expected_blocks(call.blocks));
  const Waiting& last = waiting_.emplace_back(request, &call, uncached, prefill_time(uncached));
  waiting_time_ += last.time;
  waiting_tokens_ += last.uncached_tokens;
  for (const BlockId block : call.blocks) {
    ++awaited_[block];
  }
  ++in_flight_;
  active_blocks_ += call.blocks.size();
}

VirtualEngine::Prefill VirtualEngine::start(TimePoint now, CacheChange& change) {
  const Waiting next = waiting_.front();
  waiting_.pop_front();
  waiting_time_ -= next.time;
  waiting_tokens_ -= next.uncached_tokens;
  for (const BlockId block : next.call->blocks) {
    --awaited_[block];
  }
  Prefill prefill;
  prefill.request = next.request;
  prefill.hit_blocks = cache_.leading(next.call->blocks);
  prefill.computed_tokens = next.call->input_tokens - hit_tokens(*next.call, prefill.hit_blocks);
  prefill.ends_at = now + prefill_time(prefill.computed_tokens);
  cache_.use(next.call->blocks, change);
  computing_ = true;
  busy_until_ = prefill.ends_at;
  return prefill;
}

void VirtualEngine::finish(const TraceCall& call, CacheChange& change) {
  --in_flight_;
  active_blocks_ -= call.blocks.size();
  if (!call.reply.empty()) {
    cache_.use(whole_chain(call), change);
  }
}

std::vector<BlockId> whole_chain(const TraceCall& call) {
  std::vector<BlockId> chain = call.blocks;
  chain.insert(chain.end(), call.reply.begin(), call.reply.end());
  return chain;
}

}  // namespace rolter::simulator::replay
