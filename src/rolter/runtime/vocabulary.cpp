#include "rolter/runtime/vocabulary.h"

#include "rolter/balance/strategy.h"
#include "rolter/cluster/health_state.h"
#include "rolter/cluster/outcome.h"
#include "rolter/proxy/request_facts.h"

namespace rolter::runtime {
namespace {

/// Neither served, nor ended by the client or by us.
bool is_upstream_error(cluster::Outcome outcome) {
  using cluster::Outcome;
  switch (outcome) {
    case Outcome::kServed:
    case Outcome::kClientFault:
    case Outcome::kClientGone:
    case Outcome::kStaleConnection:
    case Outcome::kAbandoned:
      return false;
    default:
      return true;
  }
}

template <typename Enum>
std::vector<std::string_view> words(Enum last) {
  std::vector<std::string_view> all;
  for (std::size_t i = 0; i <= static_cast<std::size_t>(last); ++i) {
    all.push_back(to_string(static_cast<Enum>(i)));
  }
  return all;
}

}  // namespace

telemetry::Vocabulary metric_vocabulary() {
  telemetry::Vocabulary vocabulary;
  for (std::size_t i = 0; i < cluster::kOutcomeCount; ++i) {
    const auto outcome = static_cast<cluster::Outcome>(i);
    vocabulary.errors.push_back(is_upstream_error(outcome) ? to_string(outcome)
                                                           : std::string_view());
  }
  vocabulary.reasons = words(balance::Reason::kPredicted);
  vocabulary.fallbacks = {"fail_open", "fallback_route", "bad_token_ids"};
  vocabulary.probes = words(cluster::ProbeResult::kRefused);
  vocabulary.sources = words(balance::Source::kPrefix);
  vocabulary.verdicts = words(proxy::PredictionVerdict::kLow);
  return vocabulary;
}

telemetry::BuildInfo build_info() {
  return {.version = ROLTER_VERSION, .commit = ROLTER_COMMIT};
}

}  // namespace rolter::runtime
