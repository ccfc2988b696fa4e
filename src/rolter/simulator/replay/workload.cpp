#include "rolter/simulator/replay/workload.h"

#include <algorithm>
#include <utility>

namespace rolter::simulator::replay {

Workload make_workload(std::vector<std::vector<TraceChain>> traces) {
  Workload workload;
  for (std::vector<TraceChain>& trace : traces) {
    const std::size_t first = workload.known_blocks;
    for (TraceChain& chain : trace) {
      workload.has_sessions |= chain.calls.size() > 1;
      workload.requests += chain.calls.size();
      for (TraceCall& call : chain.calls) {
        for (std::vector<std::uint32_t>* const ids : {&call.blocks, &call.reply}) {
          for (std::uint32_t& block : *ids) {
            block += static_cast<std::uint32_t>(first);
            workload.known_blocks = std::max<std::size_t>(workload.known_blocks, block + 1);
          }
        }
      }
      workload.chains.push_back(std::move(chain));
    }
  }
  std::ranges::sort(workload.chains, {}, &TraceChain::start_s);
  return workload;
}

std::uint64_t session_of(const Workload& workload, std::size_t chain, const TraceCall& call) {
  if (workload.chains[chain].calls.size() > 1) {
    return (std::uint64_t{1} << 32) + chain;
  }
  return call.blocks.empty() ? 0 : call.blocks[std::min<std::size_t>(1, call.blocks.size() - 1)];
}

}  // namespace rolter::simulator::replay
