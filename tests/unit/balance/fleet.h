#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "rolter/balance/strategy.h"
#include "rolter/base/random.h"

namespace rolter::balance {

/// A prompt of a hundred bytes, so that lengths are percentages.
inline const std::string kPrompt(100, 'p');

/// Candidates of a route with `count` idle targets, target i being replica i.
[[nodiscard]] inline std::vector<Candidate> idle_targets(std::size_t count) {
  std::vector<Candidate> candidates(count);
  for (std::size_t i = 0; i < count; ++i) {
    candidates[i].target = i;
    candidates[i].replica = ReplicaSlot{static_cast<std::uint32_t>(i)};
  }
  return candidates;
}

[[nodiscard]] inline PickInput input_for(const std::vector<Candidate>& eligible,
                                         std::string_view text = {},
                                         std::string_view session = {}) {
  PickInput in;
  in.eligible = eligible;
  in.prompt = {.root = 1, .text = text};
  in.session = session;
  return in;
}

/// A strategy in front of replicas that do nothing but count: picks, takes the lease and records as
/// the proxy does.
class Fleet {
 public:
  Fleet(Strategy& strategy, std::size_t targets, std::uint64_t seed = 1)
      : strategy_(strategy), candidates_(idle_targets(targets)), rng_(seed) {}

  [[nodiscard]] std::vector<Candidate>& candidates() { return candidates_; }

  [[nodiscard]] Decision pick(std::string_view text = {}, std::string_view session = {}) {
    return strategy_.pick(input_for(candidates_, text, session), rng_, nullptr);
  }

  /// Sends a request that stays in flight until finish().
  std::size_t send(std::string_view text = {}, std::string_view session = {}) {
    const std::size_t target = pick(text, session).target;
    ++candidates_[target].in_flight;
    record(text, target, session);
    return target;
  }

  /// A request that is over before the next one.
  std::size_t serve(std::string_view text = {}, std::string_view session = {}) {
    const std::size_t target = send(text, session);
    finish(target);
    return target;
  }

  void finish(std::size_t target) { --candidates_[target].in_flight; }

  void finish_all() {
    for (Candidate& candidate : candidates_) {
      candidate.in_flight = 0;
    }
  }

  /// As if `target` had served the prompt at some time.
  void record(std::string_view text, std::size_t target, std::string_view session = {}) {
    strategy_.record(input_for(candidates_, text, session), candidates_[target]).keep(TimePoint{});
  }

 private:
  Strategy& strategy_;
  std::vector<Candidate> candidates_;
  Rng rng_;
};

/// How far counts are from equal shares, as Pearson's statistic. Of truly even choices over 4
/// targets (3 degrees of freedom) one series in a thousand exceeds 16.27.
[[nodiscard]] inline double chi_square(const std::vector<std::size_t>& counts) {
  const auto total = static_cast<double>(std::accumulate(counts.begin(), counts.end(), 0UL));
  const double expected = total / static_cast<double>(counts.size());
  double sum = 0.0;
  for (const std::size_t count : counts) {
    const double off = static_cast<double>(count) - expected;
    sum += off * off / expected;
  }
  return sum;
}

/// `length` letters that differ from seed to seed within the first few.
[[nodiscard]] inline std::string random_text(Rng& rng, std::size_t length) {
  std::string text(length, ' ');
  for (char& letter : text) {
    letter = static_cast<char>('a' + uniform_index(rng, 26));
  }
  return text;
}

}  // namespace rolter::balance
