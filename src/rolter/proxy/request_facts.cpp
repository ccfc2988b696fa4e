#include "rolter/proxy/request_facts.h"

namespace rolter::proxy {

std::optional<std::uint64_t> predicted_cached_tokens(const RequestFacts& facts) {
  if (!facts.sent) {
    return std::nullopt;
  }
  if (facts.decision.cached_tokens) {
    return *facts.decision.cached_tokens;
  }
  if (!facts.usage) {
    return std::nullopt;
  }
  return static_cast<std::uint64_t>(facts.decision.matched *
                                    static_cast<double>(facts.usage->prompt_tokens));
}

}  // namespace rolter::proxy
