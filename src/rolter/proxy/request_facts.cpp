#include "rolter/proxy/request_facts.h"

namespace rolter::proxy {

void RequestFacts::clear() {
  for (const auto text : {&RequestTexts::request_id, &RequestTexts::client, &RequestTexts::method,
                          &RequestTexts::path, &RequestTexts::model}) {
    (this->*text).clear();
  }
  static_cast<RequestFigures&>(*this) = {};
}

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

std::string_view to_string(PredictionVerdict verdict) {
  switch (verdict) {
    case PredictionVerdict::kEqual:
      return "equal";
    case PredictionVerdict::kNear:
      return "near";
    case PredictionVerdict::kHigh:
      return "high";
    case PredictionVerdict::kLow:
      return "low";
  }
  return "unknown";
}

std::optional<PredictionVerdict> judge_prediction(const RequestFacts& facts) {
  if (!facts.decision.cached_tokens || !facts.usage || !facts.usage->cached_tokens) {
    return std::nullopt;
  }
  const std::uint64_t expected = *facts.decision.cached_tokens;
  const std::uint64_t found = *facts.usage->cached_tokens;
  if (expected == found) {
    return PredictionVerdict::kEqual;
  }
  const std::uint64_t apart = expected > found ? expected - found : found - expected;
  return apart <= facts.decision.block_size ? PredictionVerdict::kNear
         : expected > found                 ? PredictionVerdict::kHigh
                                            : PredictionVerdict::kLow;
}

}  // namespace rolter::proxy
