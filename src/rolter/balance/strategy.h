#pragma once

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
#include "rolter/openai/prompt.h"

namespace rolter::balance {

using cluster::Candidate;

/// Everything a pick may depend on, beside the strategy's own memory and the random source.
struct PickInput {
  std::span<const Candidate> eligible;  // never empty, ascending by target
  openai::Prompt prompt;
  std::span<const TokenId> token_ids;  // the whole prompt's ids; empty = unknown
  std::string_view session;            // x-session-id; empty = none
  TimePoint now;
  std::string_view cache_salt = {};  // the body's; engines reuse blocks under equal salts only
  // For record(): the decision's, which saves it a second walk through the prompt. Not needed.
  kvcache::PrefixTree::Trace trace = {};
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
};

[[nodiscard]] std::string_view to_string(Reason reason);

struct Decision {
  std::size_t target = 0;  // Candidate::target of the chosen one
  Reason reason = Reason::kOnlyOne;
  double matched = 0.0;                    // fraction 0..1 of the prompt found at the chosen target
  std::size_t matched_units = 0;           // bytes (prefix tree) or tokens (block index) behind it
  std::optional<std::uint32_t> rank = {};  // X-data-parallel-rank to ask for; absent = none
  std::optional<std::size_t> cached_tokens = {};  // that the engine will find; absent = not known
  kvcache::PrefixTree::Trace trace = {};  // where the prompt was found: for PickInput::trace
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

/// What a strategy has remembered of a request, on probation: dropping it undoes the memory unless
/// keep() was called. Move-only; owns nothing when default-made.
class Record {
 public:
  class Undo {
   public:
    virtual ~Undo() = default;
    virtual void undo(std::uint64_t ticket) = 0;
    /// The record was kept ...
    virtual void kept(std::uint64_t /*ticket*/) {}
    /// ... and later the answer ended. Comes once for every kept record.
    virtual void ended(std::uint64_t /*ticket*/, TimePoint /*now*/) {}
  };

  Record() = default;
  /// `undo` must outlive the record.
  Record(Undo& undo, std::uint64_t ticket) { add(undo, ticket); }
  Record(Record&& other) noexcept
      : memories_(std::exchange(other.memories_, {})), kept_(std::exchange(other.kept_, false)) {}
  Record& operator=(Record&& other) noexcept {
    if (this != &other) {
      drop();
      memories_ = std::exchange(other.memories_, {});
      kept_ = std::exchange(other.kept_, false);
    }
    return *this;
  }
  ~Record() { drop(); }

  /// One more memory of the same request: at most two, such as its prompt and its session.
  void add(Undo& undo, std::uint64_t ticket) {
    (memories_[0].undo == nullptr ? memories_[0] : memories_[1]) = {&undo, ticket};
  }

  /// The first body byte has come: the replica has the prompt.
  void keep() {
    kept_ = true;
    for (const Memory& memory : memories_) {
      if (memory.undo != nullptr) {
        memory.undo->kept(memory.ticket);
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

  std::array<Memory, 2> memories_{};
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

  /// Remembers that the request has been sent to `chosen`, whose rank is the decision's.
  [[nodiscard]] virtual Record record(const PickInput& in, const Candidate& chosen) = 0;
};

}  // namespace rolter::balance
