#include "rolter/simulator/generation.h"

#include <algorithm>
#include <utility>

namespace rolter::simulator {

Generation::Generation(http::Loop& loop, EngineRank& rank) : rank_(rank), news_(loop) {}

void Generation::start(SequenceSpec spec) {
  Choice& choice = choices_.emplace_back();
  choice.prompt_tokens = spec.prompt.size();
  choice.sequence = rank_.submit(std::move(spec), *this);
  ++unfinished_;
}

void Generation::refuse(std::size_t prompt_tokens) {
  Choice& choice = choices_.emplace_back();
  choice.prompt_tokens = prompt_tokens;
  choice.finish = FinishReason::kAbort;
  news_.notify();
}

void Generation::cancel() {
  for (const Choice& choice : choices_) {
    if (!choice.finish) {
      rank_.abort(choice.sequence);
    }
  }
  cancelled_ = true;
  news_.notify();
}

bool Generation::has_tokens() const {
  return std::ranges::any_of(choices_, [](const Choice& choice) { return !choice.tokens.empty(); });
}

TokenCounts Generation::counts(std::size_t choices_per_prompt) const {
  TokenCounts counts;
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    if (i % choices_per_prompt == 0) {
      counts.prompt += choices_[i].prompt_tokens;
    }
    counts.completion += choices_[i].tokens.size();
  }
  if (!choices_.empty()) {
    counts.hit = choices_.back().hit_tokens;
  }
  return counts;
}

void Generation::on_sampled(const Sampled& token) {
  const auto choice = std::ranges::find(choices_, token.sequence, &Choice::sequence);
  choice->tokens.push_back(token.token);
  choice->hit_tokens = token.hit_tokens;
  choice->finish = token.finish;
  if (token.finish) {
    --unfinished_;
  }
  news_.notify();
}

void Generation::on_engine_died() {
  engine_died_ = true;
  news_.notify();
}

}  // namespace rolter::simulator
