#include "rolter/proxy/explain_field.h"

#include <fmt/format.h>

#include "rolter/base/secret_text.h"

namespace rolter::proxy {

bool may_explain(const config::Admin& settings, const http::Fields& fields) {
  return fields.get(kExplainField) == "1" &&
         equals_secret(fields.get(kAdminTokenField), settings.token.reveal());
}

std::string explain_field(const GatewayState& state, const RequestFacts& facts) {
  const auto& targets = state.cluster->routes[facts.route].targets;
  std::string scores;
  for (const balance::Score& score : facts.scores) {
    scores += fmt::format("{}{}:{:.3f}", scores.empty() ? "" : " ",
                          state.providers[targets[score.target].provider].name, score.total);
  }
  const std::string cached = facts.decision.cached_tokens
                                 ? fmt::format("; cached_tokens={}", *facts.decision.cached_tokens)
                                 : "";
  return fmt::format("{}: reason={}; matched={:.3f}{}; source={}; load={}; scores=\"{}\"\r\n",
                     kExplainField, balance::to_string(facts.decision.reason),
                     facts.decision.matched, cached, balance::to_string(facts.decision.source),
                     targets[facts.target].replica->in_flight(), scores);
}

}  // namespace rolter::proxy
