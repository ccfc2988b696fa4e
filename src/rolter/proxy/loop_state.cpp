#include "rolter/proxy/loop_state.h"

namespace rolter::proxy {

std::shared_ptr<ProviderLink> LoopState::link(const Provider& provider, ReplicaSlot slot) {
  const std::size_t at = to_index(slot);
  if (links_.size() <= at) {
    links_.resize(at + 1);
  }
  std::shared_ptr<ProviderLink>& link = links_[at];
  // A slot that serves another provider since a reload has other addresses, hence another cell.
  if (!link || link->addresses_cell != provider.addresses) {
    link = std::make_shared<ProviderLink>(loop, provider.addresses);
  }
  return link;
}

void LoopState::make_request_id(std::string& id) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  id.resize(32);
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < id.size(); ++i) {
    bits = i % 16 == 0 ? rng() : bits >> 4;
    id[i] = kDigits[bits & 15];
  }
}

void LoopState::close_idle_connections() {
  for (const auto& link : links_) {
    if (link) {
      link->pool.close_idle();
    }
  }
}

}  // namespace rolter::proxy
