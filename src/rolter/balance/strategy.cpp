#include "rolter/balance/strategy.h"

namespace rolter::balance {

std::string_view to_string(Reason reason) {
  switch (reason) {
    case Reason::kOnlyOne:
      return "only_one";
    case Reason::kPrefix:
      return "prefix";
    case Reason::kOverloaded:
      return "overloaded";
    case Reason::kBelowThreshold:
      return "below_threshold";
    case Reason::kNoPrompt:
      return "no_prompt";
    case Reason::kRoundRobin:
      return "round_robin";
    case Reason::kRandom:
      return "random";
    case Reason::kLeastLoad:
      return "least_load";
    case Reason::kWeighted:
      return "weighted";
    case Reason::kScore:
      return "score";
    case Reason::kSession:
      return "session";
    case Reason::kResident:
      return "resident";
    case Reason::kNoCredit:
      return "no_credit";
    case Reason::kOccupancy:
      return "occupancy";
    case Reason::kHash:
      return "hash";
    case Reason::kPredicted:
      return "predicted";
  }
  return "unknown";
}

std::string_view to_string(Source source) {
  switch (source) {
    case Source::kNone:
      return "none";
    case Source::kTokenIds:
      return "token_ids";
    case Source::kLearned:
      return "learned";
    case Source::kPrefix:
      return "prefix";
  }
  return "unknown";
}

}  // namespace rolter::balance
