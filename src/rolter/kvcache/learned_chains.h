#pragma once

#include <absl/container/flat_hash_map.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rolter/base/ids.h"
#include "rolter/base/time.h"
#include "rolter/kvcache/chain_key.h"
#include "rolter/kvcache/chain_tree.h"
#include "rolter/kvcache/chain_trust.h"
#include "rolter/kvcache/prompt_marks.h"
#include "rolter/kvcache/session_tag.h"
#include "rolter/kvcache/short_mutex.h"
#include "rolter/kvcache/stream_blocks.h"
#include "rolter/kvcache/unnamed_stores.h"

namespace rolter::kvcache {

/// What prompts of plain text become in an engine's cache, learned from what the engines say: which
/// chain of blocks belongs to which text. For clients that send no token ids, and without a
/// tokenizer.
///
/// A request goes out under a session id. An engine (vLLM >= 0.30) names it in every BlockStored
/// that the request causes, and with the parent links these give the whole chain of the prompt and
/// of its reply. Chains are the same on all replicas of a model, as our keys are made from token
/// ids. The next prompt that begins as a known one begins with the same blocks, and the block index
/// says who holds them. Of engines that name no session a tokenizer teaches the prompts, and what
/// they store behind them the replies. docs/design/learned-chains.md has the rules.
///
/// Any thread may call anything; calls hold a lock for a microsecond per 4 KB of prompt. Nothing
/// waits for an answer or an event.
class LearnedChains {
 public:
  /// Events may come so long after the answer (vLLM 0.32 on a busy machine: 0.5 s).
  static constexpr Duration kAfterAnswer = std::chrono::seconds(2);
  static constexpr std::size_t kMostUnderWay = 65'536;

  explicit LearnedChains(std::size_t max_bytes = std::size_t{256} << 20, std::uint64_t seed = 1);

  void set_max_bytes(std::size_t max_bytes);
  /// Of the tags to come: random per process, since engines replay events under those of an earlier
  /// one.
  void set_seed(std::uint64_t seed);

  /// A prompt as engines with one block size see it.
  struct Prompt {
    std::span<const PromptMark> marks;  // mark_prompt(marks_seed(...))
    PromptKind kind = PromptKind::kText;
    std::uint32_t block_size = 0;
    std::uint64_t trust_id = 0;   // whose errors count together: a route's, for one model
    ChainTree::Place place = {};  // as an earlier find() of it gave it: saves a search
  };

  /// What is known of a prompt's chain.
  struct Known {
    std::uint32_t tokens = 0;         // that the known text has in common with the known chain
    std::uint32_t prompt_tokens = 0;  // of all of it; an estimate unless `tokens` is as large
    bool trusted = true;  // else predictions under its trust_id have been wrong too often
    ChainTree::Place place = {};
  };
  /// Replaces `chain` by the blocks that an engine's chain for the prompt begins with. Empty when
  /// nothing is known or worth trust.
  [[nodiscard]] Known find(const Prompt& prompt, std::vector<ChainKey>& chain);

  enum class Ticket : std::uint64_t { kNone = 0 };
  /// A request that is about to go to a replica.
  struct Departure {
    Prompt prompt;
    ReplicaSlot replica{};
    std::string_view own_session = {};  // the caller's session id; empty = none
    bool may_learn = true;    // its blocks are those of its text: no media, no list of prompts
    bool one_reply = true;    // n is 1
    bool wants_ends = false;  // Ends are asked for, also those of a prompt that is known
    std::uint32_t predicted_tokens = 0;  // by what was learned, that the engine will find
  };
  struct Begun {
    Ticket ticket = Ticket::kNone;
    SessionTag tag = SessionTag::kNone;  // to be sent with it; kNone when it has an id already
    bool wants_tokens =
        false;  // its engine names no session, so that only a tokenizer can teach it
  };
  /// Chooses its tag: that of the conversation it goes on with unless another request under it is
  /// at the replica, else a new one. A caller's own id teaches while it is the only request under
  /// it there.
  [[nodiscard]] Begun begin(const Departure& departure, TimePoint now);

  /// The engine's word on the prompt: its tokens, and those it found in its cache.
  void reported(Ticket ticket, std::uint32_t prompt_tokens, std::optional<std::uint32_t> found);
  /// The reply, as the next prompt of the conversation will have it.
  void replied(Ticket ticket, std::string_view text);
  /// Where a request's blocks ended: those of its prompt, and all. Of hybrid streams only.
  struct Ends {
    StreamId stream{};
    std::array<ChainKey, 2> keys{};
  };
  /// Answered, given up or never sent: blocks that were computed teach all the same.
  std::optional<Ends> ended(Ticket ticket, TimePoint now);

  /// From the index, on its writer's thread.
  void stored(const StoredChain& chain);

  /// The chain of a request's prompt, from a tokenizer. Returns whether it came in time and taught
  /// anything.
  bool tokenized(Ticket ticket, std::span<const ChainKey> chain, std::uint32_t prompt_tokens);

  /// Appends some of what has been learned, as ChainTreeFile has it: some milliseconds under the
  /// lock. Returns whether there is more.
  bool save(ChainTree::NodeIndex& cursor, std::string& out) const;
  /// Takes up what an earlier process had learned, in the pieces of its save(), before anything
  /// else is. False when one of them is not whole.
  bool load(std::span<const std::string_view> pieces);

  struct Stats {
    ChainTree::Stats tree;
    std::size_t under_way = 0;
    std::uint64_t learned = 0;    // chains of requests
    std::uint64_t tokenized = 0;  // of these, by a tokenizer
    std::uint64_t ambiguous = 0;  // requests that shared a session id with another one
    std::uint64_t unlinked = 0;   // events whose parents are not known
    std::uint64_t refused = 0;    // requests over kMostUnderWay or without room for their marks
    std::size_t distrusted = 0;   // trust_ids
  };
  [[nodiscard]] Stats stats() const;

 private:
  struct Request {
    std::uint32_t generation = 0;
    bool is_used = false;
    bool ended = false;
    bool ambiguous = false;  // several requests under one id
    bool one_reply = true;
    bool owns_node = false;  // it made its node
    bool committed = false;  // its prompt is in the tree
    bool ends_node = false;  // as the end of `node`
    bool hybrid = false;
    bool decoding = false;                // what is stored from now on is the reply
    std::optional<ChainKey> watched_end;  // behind which it waits for unnamed blocks
    ReplicaSlot replica{};
    std::uint64_t begun = 0;  // by the clock of what is stored without a name
    std::uint32_t users = 1;  // of the id
    StreamId stream{};        // that told of its blocks
    std::uint64_t session = 0;
    std::uint64_t tag = 0;
    std::uint64_t trust_id = 0;
    PromptKind kind = PromptKind::kText;
    std::uint32_t block_size = 0;
    std::uint32_t expected_blocks = 0;  // of the chain, from the text alone
    std::uint32_t expected_tokens = 0;  // of the prompt
    std::uint32_t prompt_tokens = 0;    // as reported; 0 = not yet
    std::uint32_t predicted_tokens = 0;
    std::uint32_t prefill_blocks = 0;  // full ones of the prompt, as events tell
    ChainTree::Place place;            // where its marks left what was known when last looked up
    ChainTree::Name node;
    std::vector<PromptMark> marks;
    std::vector<PromptMark> reply;
    std::vector<ChainKey> chain;
  };
  struct Ending {
    Ticket ticket{};
    TimePoint at;
  };

  [[nodiscard]] std::uint64_t choose_tag(const ChainTree::Place& place, ReplicaSlot replica);
  [[nodiscard]] bool can_learn(const Departure& departure, const ChainTree::Place& place) const;
  [[nodiscard]] bool prepare(Request& request, const Prompt& prompt, const ChainTree::Place& place);
  [[nodiscard]] Request* find(Ticket ticket);
  [[nodiscard]] Ticket ticket_of(std::uint32_t place) const;
  [[nodiscard]] Ticket open(std::uint64_t session);
  void close(Ticket ticket);
  void expire(TimePoint now);
  [[nodiscard]] std::optional<std::uint32_t> by_session(std::uint64_t session) const;
  [[nodiscard]] bool reach(Request& request, const StoredChain& stored);
  void note_phase(Request& request, std::size_t new_blocks);
  void commit(Request& request);
  void enter(Request& request);
  void refresh(Request& request);
  void set_prompt_end(Request& request);
  void confirm(const Request& request);
  void attach_reply(Request& request);
  void stored_unnamed(const StoredChain& stored);
  void follow(Request& request);
  void watch(Request& request);
  void unwatch(Request& request);
  [[nodiscard]] Ticket ticket_of(const Request& request) const {
    return ticket_of(static_cast<std::uint32_t>(&request - requests_.data()));
  }

  mutable ShortMutex mutex_;
  ChainTree tree_;
  ChainTrusts trusts_;
  UnnamedStores unnamed_;
  std::vector<Request> requests_;
  std::atomic<std::uint32_t> under_way_{0};  // of them, for whoever has no lock
  std::vector<std::uint32_t> free_;
  absl::flat_hash_map<std::uint64_t, std::uint32_t> by_session_;  // of the one last under it
  std::deque<Ending> endings_;
  std::size_t marks_under_way_ = 0;
  std::size_t max_bytes_;
  std::uint64_t next_tag_;
  TimePoint latest_{};            // that anybody told
  std::vector<ChainKey> known_;   // scratch
  std::vector<ChainKey> walked_;  // scratch of stored()
  Stats counts_;
};

}  // namespace rolter::kvcache
