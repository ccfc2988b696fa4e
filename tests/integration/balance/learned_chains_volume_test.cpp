// A hundred thousand requests of plain text over the caches of four simulated engines and their
// events, without sockets: what was learned predicts what the caches have, within bounded memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "rolter/balance/precise_cache_aware.h"
#include "rolter/simulator/chat_template.h"
#include "rolter/simulator/kv_cache.h"
#include "rolter/simulator/tokenizer.h"
#include "tests/support/volume.h"

namespace rolter::balance {
namespace {

constexpr std::size_t kReplicas = 4;
constexpr std::uint32_t kTokensPerBlock = 16;
constexpr std::size_t kMostBytes = std::size_t{4} << 20;

/// An engine's cache, whose events go straight into the index.
class Engine {
 public:
  Engine(kvcache::Residency& residency, std::uint32_t replica)
      : residency_(residency),
        cache_(1'500, kTokensPerBlock),
        stream_(residency.index.add_stream({.replica = ReplicaSlot{replica}}).value()) {
    residency.index.set_usable(stream_, true);
  }

  /// Computes the prompt and samples the reply. Returns the tokens found in the cache.
  std::size_t serve(const std::vector<TokenId>& prompt, const std::vector<TokenId>& reply,
                    std::string_view session) {
    simulator::Sequence sequence;
    sequence.spec.prompt = prompt;
    sequence.spec.session_id = session;
    sequence.tokens = prompt;
    const auto hit = cache_.find_hit(sequence);
    const std::size_t found = hit.size() * kTokensPerBlock;
    EXPECT_TRUE(cache_.allocate(sequence, hit, prompt.size() - found));
    sequence.computed = prompt.size();
    tell();
    for (const TokenId token : reply) {
      sequence.tokens.push_back(token);
      EXPECT_TRUE(cache_.allocate(sequence, {}, 1));
      ++sequence.computed;
      tell();
    }
    cache_.release(sequence);
    return found;
  }

 private:
  void tell() {
    auto batch = residency_.index.begin(stream_);
    for (const simulator::KvEvent& event : cache_.take_events()) {
      if (const auto* const stored = std::get_if<simulator::BlockStored>(&event)) {
        hashes_.clear();
        for (const simulator::BlockHash hash : stored->hashes) {
          hashes_.push_back(kvcache::EngineHash{static_cast<std::uint64_t>(hash)});
        }
        kvcache::BlockStored told{.hashes = hashes_,
                                  .tokens = stored->tokens,
                                  .block_size = stored->block_size,
                                  .session_id = stored->session_id};
        if (stored->parent) {
          told.parent = kvcache::EngineHash{static_cast<std::uint64_t>(*stored->parent)};
        }
        batch.stored(told);
      } else if (const auto* const removed = std::get_if<simulator::BlockRemoved>(&event)) {
        const kvcache::EngineHash hash{static_cast<std::uint64_t>(removed->hash)};
        batch.removed({.hashes = {&hash, 1}});
      }
    }
  }

  kvcache::Residency& residency_;
  simulator::KvCache cache_;
  kvcache::StreamId stream_;
  std::vector<kvcache::EngineHash> hashes_;
};

/// Conversations of some turns under one of a few system prompts; one in ten prompts comes again.
class Talks {
 public:
  const std::vector<simulator::Turn>& next() {
    std::vector<simulator::Turn>& talk = talks_[current_ = random_() % talks_.size()];
    if (random_() % 10 == 0 && talk.size() > 1 && talk.back().role == "user") {
      return talk;
    }
    if (talk.empty() || talk.size() > 12) {
      const std::size_t rules = random_() % 5;
      talk = {{"system", "these are the rules of house " +
                             std::string(1, static_cast<char>('a' + rules)) +
                             std::string(600 + 150 * rules, 'r')}};
    }
    if (talk.back().role == "user") {
      talk.push_back({"assistant", "never mind"});  // the last one was given up
    }
    talk.push_back({"user", words(3 + random_() % 40)});
    return talk;
  }
  std::string reply() { return words(2 + random_() % 30); }
  std::string reasoned_reply() {
    return "<think>" + words(2 + random_() % 30) + "</think>" + reply();
  }
  void answered(const std::string& reply) {
    if (random_() % 10 != 0) {
      talks_[current_].push_back({"assistant", reply});
    }
  }

 private:
  std::string words(std::size_t count) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) {
      text += text.empty() ? "" : " ";
      for (std::size_t letters = 2 + random_() % 7; letters > 0; --letters) {
        text.push_back(static_cast<char>('a' + random_() % 26));
      }
    }
    return text;
  }

  std::mt19937_64 random_{7};
  std::vector<std::vector<simulator::Turn>> talks_ = std::vector<std::vector<simulator::Turn>>(40);
  std::size_t current_ = 0;
};

std::string text_of(const std::vector<simulator::Turn>& talk) {
  std::string text;
  for (const simulator::Turn& turn : talk) {
    if (!text.empty()) {
      text.push_back(static_cast<char>(turn.role == "user" ? 0xF9 : 0xFA));
    }
    text += turn.text;
  }
  return text;
}

/// As templates of reasoning models have it: of earlier turns only what was answered.
std::vector<simulator::Turn> without_reasoning(std::vector<simulator::Turn> talk) {
  constexpr std::string_view kEnd = "</think>";
  for (simulator::Turn& turn : talk) {
    if (const std::size_t end = turn.text.find(kEnd); end != std::string::npos) {
      turn.text.erase(0, end + kEnd.size());
    }
  }
  return talk;
}

/// What became of requests over engines of their own.
struct Outcome {
  int compared = 0;
  int equal = 0;
  int near = 0;         // within a block
  int high = 0;         // more than a block too many
  int distrusting = 0;  // requests at a time of distrust
  bool distrusts_at_the_end = false;
  std::size_t found_tokens = 0;
  std::size_t most_bytes = 0;  // of what was learned
  std::uint64_t forgotten = 0;

  void compare(std::size_t predicted, std::size_t found) {
    const auto apart = std::abs(static_cast<long>(predicted) - static_cast<long>(found));
    ++compared;
    equal += apart == 0 ? 1 : 0;
    near += apart <= static_cast<long>(kTokensPerBlock) ? 1 : 0;
    high += predicted > found + kTokensPerBlock ? 1 : 0;
  }
};

enum class Ids : std::uint8_t { kNone, kInHeader };

struct Workload {
  int requests = 0;
  Ids ids = Ids::kNone;
  bool reasons = false;  // replies do
  std::function<bool(int request)> drops_reasoning = [](int) { return false; };
};

using MakeStrategy =
    std::function<std::unique_ptr<Strategy>(std::shared_ptr<kvcache::Residency> residency)>;

Outcome run(const Workload& workload, const MakeStrategy& make) {
  const auto residency = std::make_shared<kvcache::Residency>();
  residency->learned.set_max_bytes(kMostBytes);
  std::deque<Engine> engines;
  std::vector<Candidate> candidates(kReplicas);
  for (std::uint32_t i = 0; i < kReplicas; ++i) {
    engines.emplace_back(*residency, i);
    candidates[i] = {.target = i, .replica = ReplicaSlot{i}};
  }
  const std::unique_ptr<Strategy> strategy = make(residency);
  Rng rng(1);
  Talks talks;
  Outcome outcome;
  for (int i = 0; i < workload.requests; ++i) {
    const std::vector<simulator::Turn>& talk = talks.next();
    const std::string text = text_of(talk);
    const auto tokens =
        simulator::render_chat(workload.drops_reasoning(i) ? without_reasoning(talk) : talk, "",
                               simulator::GenerationPrompt::kYes);
    PickInput in;
    in.eligible = candidates;
    in.prompt = {.root = 1, .text = text, .is_chat = true};
    in.token_ids = workload.ids == Ids::kInHeader ? std::span<const TokenId>(tokens) : in.token_ids;
    in.now = TimePoint{} + std::chrono::milliseconds(50) * i;
    const Decision decision = strategy->pick(in, rng, nullptr);
    in.cached_tokens = decision.cached_tokens;
    Record record = strategy->record(in, candidates[decision.target]);
    const kvcache::TagText session(record.session());
    const std::string reply = workload.reasons ? talks.reasoned_reply() : talks.reply();
    const std::size_t found =
        engines[decision.target].serve(tokens, simulator::tokenize(reply), session.view());
    record.keep(in.now);
    record.reply("\xFA" + reply);
    if (i % 3 != 0) {  // the others are streams that nobody asked for their usage
      record.report({.prompt_tokens = tokens.size(), .cached_tokens = found});
    }
    record.end(in.now);
    talks.answered(reply);
    outcome.found_tokens += found;
    outcome.most_bytes = std::max(outcome.most_bytes, residency->learned.stats().tree.bytes);
    outcome.distrusts_at_the_end = residency->learned.stats().distrusted > 0;
    outcome.distrusting += outcome.distrusts_at_the_end ? 1 : 0;
    if (i >= 100) {
      outcome.compare(decision.cached_tokens.value_or(0), found);
    }
  }
  outcome.forgotten = residency->learned.stats().tree.evicted;
  return outcome;
}

std::unique_ptr<Strategy> make_precise(std::shared_ptr<kvcache::Residency> residency,
                                       Learning learning) {
  return std::make_unique<PreciseCacheAware>(
      PreciseSettings{},
      RouteResidency(std::move(residency), std::vector<std::string>(kReplicas, "m"), learning));
}

TEST(LearnedChainsVolume, a_hundred_thousand_requests_are_predicted_in_bounded_memory) {
  const Outcome outcome = run({.requests = volume(100'000)}, [](auto residency) {
    return make_precise(std::move(residency), Learning::kOn);
  });
  EXPECT_GE(static_cast<double>(outcome.near) / outcome.compared, 0.99);
  EXPECT_GE(static_cast<double>(outcome.equal) / outcome.compared, 0.90);
  EXPECT_LE(outcome.most_bytes, kMostBytes);
  EXPECT_GT(outcome.forgotten, volume(1'000U)) << "the bound was never reached";
  RecordProperty("near", outcome.near);
  RecordProperty("equal", outcome.equal);
}

TEST(LearnedChainsVolume, caches_serve_as_much_as_with_token_ids) {
  constexpr int kRequests = volume(20'000);
  const Outcome learned = run({.requests = kRequests}, [](auto residency) {
    return make_precise(std::move(residency), Learning::kOn);
  });
  const Outcome by_ids = run({.requests = kRequests, .ids = Ids::kInHeader}, [](auto residency) {
    return make_precise(std::move(residency), Learning::kOff);
  });
  EXPECT_GE(static_cast<double>(learned.found_tokens),
            0.98 * static_cast<double>(by_ids.found_tokens));
  RecordProperty("learned", std::to_string(learned.found_tokens));
  RecordProperty("by_ids", std::to_string(by_ids.found_tokens));
}

TEST(LearnedChainsVolume, a_template_that_drops_earlier_reasoning_makes_no_false_pins) {
  const Outcome outcome = run(
      {.requests = volume(20'000), .reasons = true, .drops_reasoning = [](int) { return true; }},
      [](auto residency) { return make_precise(std::move(residency), Learning::kOn); });
  EXPECT_GE(static_cast<double>(outcome.near) / outcome.compared, 0.95);
  EXPECT_LE(static_cast<double>(outcome.high) / outcome.compared, 0.01);
  EXPECT_EQ(outcome.distrusting, 0) << "it is right without";
  RecordProperty("near", outcome.near);
  RecordProperty("high", outcome.high);
}

TEST(LearnedChainsVolume, a_template_that_changes_is_distrusted_until_it_is_learned) {
  constexpr int kPhase = 3'000;
  const Outcome outcome =
      run({.requests = 3 * kPhase,
           .reasons = true,
           .drops_reasoning = [](int i) { return i / kPhase == 1; }},
          [](auto residency) { return make_precise(std::move(residency), Learning::kOn); });
  EXPECT_GT(outcome.distrusting, 0);
  EXPECT_LT(outcome.distrusting, kPhase / 2);
  EXPECT_FALSE(outcome.distrusts_at_the_end);
  EXPECT_LE(static_cast<double>(outcome.high) / outcome.compared, 0.02);
  RecordProperty("near", outcome.near);
  RecordProperty("high", outcome.high);
  RecordProperty("distrusting", outcome.distrusting);
}

}  // namespace
}  // namespace rolter::balance
