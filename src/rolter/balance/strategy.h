#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "rolter/base/ids.h"
#include "rolter/base/random.h"
#include "rolter/base/time.h"
#include "rolter/cluster/candidate.h"
#include "rolter/kvcache/prefix_tree.h"
#include "rolter/kvcache/session_tag.h"
#include "rolter/openai/prompt.h"

namespace rolter::balance {

using cluster::Candidate;

struct Decision;

/// Everything a pick may depend on, beside the strategy's own memory and the random source.
struct PickInput {
  std::span<const Candidate> eligible;  // never empty, ascending by target
  openai::Prompt prompt;
  std::span<const TokenId> token_ids;  // the whole prompt's ids; empty = unknown
  std::string_view session;            // x-session-id; empty = none
  TimePoint now;
  std::string_view cache_salt = {};  // the body's; engines reuse blocks under equal salts only
  // For record(): what led here, which saves it a second look at the prompt. Absent when the
  // target was not chosen by the strategy.
  const Decision* decided = nullptr;
  // Its answer comes by tokens, so that the first byte shows when the prompt has been computed.
  bool streamed = true;
  // For record(): the decision's, to be compared with what the engine reports.
  std::optional<std::size_t> cached_tokens = {};
  std::uint32_t choices = 1;     // n: replies wanted
  bool session_is_clear = true;  // header and body do not name different ones
};

/// Why a target was chosen: one word for logs, metrics and explain.
enum class Reason : std::uint8_t {
  kOnlyOne,         // no choice
  kPrefix,          // the best prefix match, at or over the threshold
  kOverloaded,      // a prefix match was passed over since its target is too busy
  kBelowThreshold,  // no match reached the threshold: least loaded
  kNoPrompt,        // nothing to match on: least loaded
  kRoundRobin,
  kRandom,
  kLeastLoad,
  kWeighted,
  kScore,      // the highest weighted sum
  kSession,    // pinned by x-session-id
  kResident,   // exact residency of leading blocks
  kNoCredit,   // nothing usable is known of any target's cache: least loaded
  kOccupancy,  // free cache capacity
  kHash,
  kPredicted,  // the least predicted time to the first token
};

[[nodiscard]] std::string_view to_string(Reason reason);

/// How it was known what the chosen target's cache holds of the prompt.
enum class Source : std::uint8_t {
  kNone,
  kTokenIds,  // the request's own token ids, against the engine's events
  kLearned,   // the chain that its text has been learned to become, against the engine's events
  kPrefix,    // what the target has been sent
};

[[nodiscard]] std::string_view to_string(Source source);

struct Decision {
  std::size_t target = 0;  // Candidate::target of the chosen one
  Reason reason = Reason::kOnlyOne;
  double matched = 0.0;                    // fraction 0..1 of the prompt found at the chosen target
  std::size_t matched_units = 0;           // bytes (prefix tree) or tokens (block index) behind it
  std::optional<std::uint32_t> rank = {};  // X-data-parallel-rank to ask for; absent = none
  std::optional<std::size_t> cached_tokens = {};  // that the engine will find; absent = not known
  kvcache::PrefixTree::Trace trace = {};          // where the prompt was found: for record()
  std::optional<std::size_t> sent_bytes = {};     // of the prompt, sent there before by the prefix
                                                  // tree; absent = nothing was expected by that
  Source source = Source::kNone;
  std::uint32_t block_size = 0;  // tokens, of the engine whose cached_tokens are known
  std::uint64_t exact_match =
      0;  // RouteResidency's, where the prompt's chain was found: for record()
};

/// `reason`, unless there was no choice.
[[nodiscard]] inline Reason unless_only(const PickInput& in, Reason reason) {
  return in.eligible.size() == 1 ? Reason::kOnlyOne : reason;
}

/// What explain shows for one eligible target. Filled only when asked for.
struct Score {
  std::size_t target = 0;
  double matched = 0.0;  // fraction 0..1
  double total = 0.0;    // what the strategy maximised; meaning depends on the strategy
  std::vector<std::pair<std::string_view, double>> parts = {};  // named, unweighted
};

/// What the engine says of a prompt once it has answered.
struct PromptUsage {
  std::uint64_t prompt_tokens = 0;
  std::optional<std::uint64_t> cached_tokens = {};  // absent: it does not say
};

/// A request that only a tokenizer can teach, since its engine's events do not name it.
struct TokensWanted {
  std::uint64_t ticket = 0;      // kvcache::LearnedChains::Ticket
  std::uint32_t block_size = 0;  // tokens
  bool by_adapter = false;       // blocks of an adapter have its name in them
};

/// What a strategy has remembered of a request, on probation: dropping it undoes the memory unless
/// keep() was called. Move-only; owns nothing when default-made.
class Record {
 public:
  class Undo {
   public:
    virtual ~Undo() = default;
    virtual void undo(std::uint64_t ticket) = 0;
    /// The record was kept: the first byte came at `now` ...
    virtual void kept(std::uint64_t /*ticket*/, TimePoint /*now*/) {}
    /// ... the engine may have said what the prompt was, at any time before the end ...
    virtual void reported(std::uint64_t /*ticket*/, const PromptUsage& /*usage*/) {}
    /// ... the text of the answer, as the conversation's next prompt will have it, may be known at
    /// its end ...
    virtual void replied(std::uint64_t /*ticket*/, std::string_view /*text*/) {}
    /// ... and later the answer ended. Comes once for every kept record.
    virtual void ended(std::uint64_t /*ticket*/, TimePoint /*now*/) {}
  };

  Record() = default;
  /// The request is to name this session to the engine, in a header of ours; kNone: no header.
  void set_session(kvcache::SessionTag session) { session_ = session; }
  [[nodiscard]] kvcache::SessionTag session() const { return session_; }

  /// Once it has been sent.
  void want_tokens(const TokensWanted& wanted) { tokens_wanted_ = wanted; }
  [[nodiscard]] const std::optional<TokensWanted>& tokens_wanted() const { return tokens_wanted_; }

  /// `undo` must outlive the record.
  Record(Undo& undo, std::uint64_t ticket) { add(undo, ticket); }
  Record(Record&& other) noexcept
      : memories_(std::exchange(other.memories_, {})),
        session_(std::exchange(other.session_, kvcache::SessionTag::kNone)),
        tokens_wanted_(std::exchange(other.tokens_wanted_, std::nullopt)),
        kept_(std::exchange(other.kept_, false)) {}
  Record& operator=(Record&& other) noexcept {
    if (this != &other) {
      drop();
      memories_ = std::exchange(other.memories_, {});
      session_ = std::exchange(other.session_, kvcache::SessionTag::kNone);
      tokens_wanted_ = std::exchange(other.tokens_wanted_, std::nullopt);
      kept_ = std::exchange(other.kept_, false);
    }
    return *this;
  }
  ~Record() { drop(); }

  /// One more memory of the same request: at most kMemories, such as its prompt and its session.
  void add(Undo& undo, std::uint64_t ticket) {
    const auto vacant = std::ranges::find(memories_, nullptr, &Memory::undo);
    (vacant == memories_.end() ? memories_.back() : *vacant) = {&undo, ticket};
  }
  void add(Record&& other) {
    if (other.session_ != kvcache::SessionTag::kNone) {
      session_ = other.session_;
    }
    if (other.tokens_wanted_) {
      tokens_wanted_ = other.tokens_wanted_;
    }
    for (Memory& memory : other.memories_) {
      if (Undo* const undo = std::exchange(memory.undo, nullptr); undo != nullptr) {
        add(*undo, memory.ticket);
      }
    }
  }

  /// The first body byte has come: the replica has the prompt.
  void keep(TimePoint now) {
    kept_ = true;
    for (const Memory& memory : memories_) {
      if (memory.undo != nullptr) {
        memory.undo->kept(memory.ticket, now);
      }
    }
  }

  /// The engine's word on the prompt. Of a kept record, before its end.
  void report(const PromptUsage& usage) {
    for (const Memory& memory : memories_) {
      if (memory.undo != nullptr && kept_) {
        memory.undo->reported(memory.ticket, usage);
      }
    }
  }

  /// The answer's text; see Strategy::remembers_replies(). Of a kept record, before its end.
  void reply(std::string_view text) {
    for (const Memory& memory : memories_) {
      if (memory.undo != nullptr && kept_) {
        memory.undo->replied(memory.ticket, text);
      }
    }
  }

  /// The answer has ended. A kept record that is dropped without it counts as ended long ago.
  void end(TimePoint now) {
    for (Memory& memory : memories_) {
      if (Undo* const undo = std::exchange(memory.undo, nullptr); undo != nullptr) {
        kept_ ? undo->ended(memory.ticket, now) : undo->undo(memory.ticket);
      }
    }
  }

 private:
  struct Memory {
    Undo* undo = nullptr;
    std::uint64_t ticket = 0;
  };

  void drop() { end(TimePoint{}); }

  static constexpr std::size_t kMemories = 4;
  std::array<Memory, kMemories> memories_{};
  kvcache::SessionTag session_ = kvcache::SessionTag::kNone;
  std::optional<TokensWanted> tokens_wanted_;
  bool kept_ = false;
};

/// How a route chooses among its eligible targets. Any thread may call anything: what a strategy
/// remembers between picks (a tree, a counter, a session table) owns its locking.
class Strategy {
 public:
  virtual ~Strategy() = default;

  /// Chooses. A pure function of the input, the random source and the strategy's memory, which it
  /// does not change beyond a rotation counter: explain may call it for a request that is never
  /// sent. `scores`, when given, receives one row per eligible target.
  [[nodiscard]] virtual Decision pick(const PickInput& in, Rng& rng,
                                      std::vector<Score>* scores) = 0;

  /// Whether the prompt's token ids are worth reading for it.
  [[nodiscard]] virtual bool uses_token_ids() const { return false; }

  /// Whether answers are worth reading for Record::reply().
  [[nodiscard]] virtual bool remembers_replies() const { return false; }

  /// Remembers that the request is about to be sent to `chosen`, whose rank is the decision's.
  [[nodiscard]] virtual Record record(const PickInput& in, const Candidate& chosen) = 0;
};

}  // namespace rolter::balance
