#include "rolter/runtime/vocabulary.h"

#include "rolter/balance/strategy.h"
#include "rolter/cluster/health_state.h"
#include "rolter/cluster/outcome.h"

namespace rolter::runtime {
namespace {

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
    // A served request is no error.
    vocabulary.errors.push_back(outcome == cluster::Outcome::kServed ? std::string_view()
                                                                     : to_string(outcome));
  }
  vocabulary.reasons = words(balance::Reason::kHash);
  vocabulary.fallbacks = {"fail_open"};
  vocabulary.probes = words(cluster::ProbeResult::kRefused);
  return vocabulary;
}

telemetry::BuildInfo build_info() {
  return {.version = ROLTER_VERSION, .commit = ROLTER_COMMIT};
}

}  // namespace rolter::runtime
