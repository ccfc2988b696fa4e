#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "rolter/balance/choices.h"
#include "rolter/balance/prefill_queues.h"
#include "rolter/balance/route_prefixes.h"
#include "rolter/balance/route_residency.h"
#include "rolter/balance/strategy.h"
#include "rolter/balance/token_size.h"

namespace rolter::balance {

/// Sends a request where its first token is predicted to come first: the least sum of the time that
/// the target's queue takes to prefill and of the request's own prefill there, without what is
/// cached, times miss_weight. Over 1, that prices what a miss costs others: it evicts and
/// duplicates blocks (routing studies on public traces: 2 is best).
///
/// What a target holds is what its engine's events tell where they are usable and the prompt's
/// token ids are known; else what it has been sent. A prompt on its way counts as held in both.
/// Speeds, queues and the size of a token are learned, and the same for all while nothing is known:
/// then the least work decides. Of equal targets the one with the fewest requests, then any.
class PredictedTtft final : public Strategy, private Record::Undo {
 public:
  struct Parts {
    double miss_weight = 2.0;
    bool optimistic = true;  // a prompt on its way counts as held, of exact residency too
    RoutePrefixes prefixes;
    RouteResidency residency;
    std::shared_ptr<PrefillQueues> queues;  // of all routes
    std::shared_ptr<TokenSize> token_size;  // of the route, reloads included
  };
  explicit PredictedTtft(Parts parts) : parts_(std::move(parts)) {}

  Decision pick(const PickInput& in, Rng& rng, std::vector<Score>* scores) override;
  Record record(const PickInput& in, const Candidate& chosen) override;
  [[nodiscard]] bool remembers_replies() const override { return true; }
  [[nodiscard]] bool uses_token_ids() const override { return true; }

  [[nodiscard]] const std::shared_ptr<TokenSize>& token_size() const { return parts_.token_size; }

 private:
  /// What is known of the prompt at one target.
  struct Outlook {
    double cached_tokens = 0.0;
    std::size_t matched_bytes = 0;  // of the prefix tree, where that was asked
    Held held;                      // of the engine's own blocks, where these are known
    [[nodiscard]] bool is_exact() const { return held.full_blocks > 0; }
  };
  struct Prompt {
    double tokens = 0.0;
    PerCandidate<Outlook> outlooks;
    kvcache::PrefixTree::Trace trace = {};
    std::uint64_t exact_match = 0;
  };
  [[nodiscard]] double tokens_of(const PickInput& in) const;
  [[nodiscard]] Prompt look_up(const PickInput& in, Rng& rng) const;
  [[nodiscard]] static Decision describe(const PickInput& in, const Prompt& prompt,
                                         std::size_t chosen);
  [[nodiscard]] std::size_t choose(const PickInput& in, Rng& rng, const Prompt& prompt,
                                   const PerCandidate<double>& costs) const;

  void undo(std::uint64_t ticket) override;
  void kept(std::uint64_t ticket, TimePoint now) override;
  void reported(std::uint64_t ticket, const PromptUsage& usage) override;
  void ended(std::uint64_t ticket, TimePoint now) override;

  Parts parts_;
};

}  // namespace rolter::balance
