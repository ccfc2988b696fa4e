#include "rolter/kvcache/learned_chains.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "rolter/kvcache/chain_tree_file.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace rolter::kvcache {
namespace {

// What a byte of text is taken for where nothing is known: English has 4 to a token.
constexpr double kTokensPerByte = 0.25;

// Blocks of a prompt, as far as they can be counted, that are not known.
constexpr std::uint32_t kWorthTokenizing = 1;

std::uint64_t id_of(std::string_view session) {
  return XXH3_64bits(session.data(), session.size());
}

/// Ours are looked up by their number, which an engine gives back as text.
std::uint64_t id_of(SessionTag tag) {
  const TagText text(tag);
  return id_of(text.view());
}

std::uint32_t estimate(std::uint32_t tokens, const PromptMark* known, std::uint32_t length) {
  const std::uint32_t from = known == nullptr ? 0 : known->offset;
  const double density = tokens == 0 ? kTokensPerByte : static_cast<double>(tokens) / from;
  return tokens + static_cast<std::uint32_t>(density * (length > from ? length - from : 0));
}

}  // namespace

LearnedChains::LearnedChains(std::size_t max_bytes, std::uint64_t seed)
    : tree_(max_bytes), max_bytes_(max_bytes), next_tag_(seed) {}

void LearnedChains::set_max_bytes(std::size_t max_bytes) {
  const std::lock_guard lock(mutex_);
  max_bytes_ = max_bytes;
  tree_.set_max_bytes(max_bytes);
}

void LearnedChains::set_seed(std::uint64_t seed) {
  const std::lock_guard lock(mutex_);
  next_tag_ = seed;
}

LearnedChains::Known LearnedChains::find(const Prompt& prompt, std::vector<ChainKey>& chain) {
  chain.clear();
  if (prompt.marks.empty()) {
    return {};
  }
  const std::lock_guard lock(mutex_);
  const ChainTrust& trust = trusts_.of(prompt.trust_id);
  const ChainTree::Place place = tree_.find(prompt.marks);
  Known known{.place = place};
  known.trusted = trust.trusted();
  known.tokens = tree_.tokens_at(
      place, trust.trusts_replies() ? ChainTree::Replies::kCounted : ChainTree::Replies::kIgnored);
  known.prompt_tokens =
      estimate(known.tokens, place.passed == 0 ? nullptr : &prompt.marks[place.passed - 1],
               prompt.marks.back().offset);
  if (known.trusted && known.tokens >= prompt.block_size) {
    tree_.chain_of(place.node, known.tokens / prompt.block_size, chain);
  }
  return known;
}

std::uint64_t LearnedChains::choose_tag(const ChainTree::Place& place, ReplicaSlot replica) {
  if (place.node != ChainTree::kRoot && place.mark >= tree_.end_mark(place.node)) {
    const std::uint64_t tag = tree_.tag(place.node);
    const auto other = by_session(at_replica(id_of(SessionTag{tag}), replica));
    if (tag != 0 && (!other || requests_[*other].ended)) {
      return tag;
    }
  }
  // Odd multiples of a number per process: no two are equal, none is 0.
  next_tag_ += 2;
  const std::uint64_t tag = (next_tag_ | 1) * 0x9e3779b97f4a7c15ULL;
  return tag ^ (tag >> 32);
}

LearnedChains::Begun LearnedChains::begin(const Departure& departure, TimePoint now) {
  const std::lock_guard lock(mutex_);
  expire(now);
  const Prompt& prompt = departure.prompt;
  const ChainTree::Place place = tree_.find_again(prompt.marks, prompt.place);
  Begun begun;
  std::uint64_t id = 0;
  if (departure.own_session.empty()) {
    begun.tag = SessionTag{choose_tag(place, departure.replica)};
    id = id_of(begun.tag);
  } else {
    id = id_of(departure.own_session);
  }
  tree_.touch(place.node);
  const std::uint64_t session = at_replica(id, departure.replica);
  if (const auto other = by_session(session)) {
    Request& before = requests_[*other];
    if (!before.ended || before.ambiguous) {
      // Whose blocks the engine will tell of cannot be known.
      before.ambiguous = true;
      before.ended = false;
      ++before.users;
      ++counts_.ambiguous;
      begun.ticket = ticket_of(*other);
      return begun;
    }
    close(ticket_of(*other));
  }
  const bool has_room =
      (marks_under_way_ + prompt.marks.size()) * sizeof(PromptMark) <= max_bytes_ / 4;
  if (!has_room || requests_.size() - free_.size() >= kMostUnderWay) {
    ++counts_.refused;
    return begun;
  }
  begun.ticket = open(session);
  Request& request = *find(begun.ticket);
  request.replica = departure.replica;
  request.begun = unnamed_.clock();
  unnamed_.sent(departure.replica);
  request.tag = std::to_underlying(begun.tag);
  request.trust_id = prompt.trust_id;
  request.predicted_tokens = departure.predicted_tokens;
  if (can_learn(departure, place)) {
    request.one_reply = departure.one_reply;
    begun.wants_tokens = prepare(request, prompt, place);
  }
  return begun;
}

/// Of a prompt that is known as a whole nothing more is learned. Where engines name no session, it
/// shows all the same whose reply is whose.
bool LearnedChains::can_learn(const Departure& departure, const ChainTree::Place& place) const {
  const Prompt& prompt = departure.prompt;
  const bool is_known = place.passed == prompt.marks.size() && tree_.is_whole(place);
  return departure.may_learn && !prompt.marks.empty() && prompt.block_size > 0 &&
         (!is_known || departure.wants_ends || unnamed_.never_names(departure.replica));
}

/// For what it may teach. Returns whether only a tokenizer can.
bool LearnedChains::prepare(Request& request, const Prompt& prompt, const ChainTree::Place& place) {
  request.kind = prompt.kind;
  request.block_size = prompt.block_size;
  request.place = place;
  request.marks.assign(prompt.marks.begin(), prompt.marks.end());
  marks_under_way_ += request.marks.size();
  const bool counts_replies = trusts_.of(prompt.trust_id).trusts_replies();
  const std::uint32_t tokens = tree_.tokens_at(
      place, counts_replies ? ChainTree::Replies::kCounted : ChainTree::Replies::kIgnored);
  request.expected_blocks = tokens / prompt.block_size;
  request.expected_tokens =
      estimate(tokens, place.passed == 0 ? nullptr : &prompt.marks[place.passed - 1],
               prompt.marks.back().offset);
  if (!unnamed_.never_names(request.replica)) {
    return false;
  }
  if (place.passed == request.marks.size()) {
    // Nothing to learn, but its reply is not that of the same prompt's other request.
    tree_.chain_of(place.node, tree_.prompt_blocks(place.node), request.chain);
    follow(request);
  }
  // The reply to a short question is as long as any: where the question ends, it begins.
  const bool is_new_turn =
      prompt.kind == PromptKind::kChat && request.one_reply && place.passed < request.marks.size();
  return is_new_turn || request.expected_tokens >= tokens + kWorthTokenizing * prompt.block_size;
}

LearnedChains::Ticket LearnedChains::open(std::uint64_t session) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(requests_.size()));
    requests_.emplace_back();
  }
  const std::uint32_t place = free_.back();
  free_.pop_back();
  Request& request = requests_[place];
  request.is_used = true;
  ++request.generation;
  request.session = session;
  by_session_.insert_or_assign(session, place);
  under_way_.fetch_add(1, std::memory_order_relaxed);
  return ticket_of(place);
}

LearnedChains::Ticket LearnedChains::ticket_of(std::uint32_t place) const {
  return Ticket{std::uint64_t{requests_[place].generation} << 32 | place};
}

LearnedChains::Request* LearnedChains::find(Ticket ticket) {
  const std::uint64_t number = std::to_underlying(ticket);
  const std::size_t place = number & 0xffffffffU;
  if (place >= requests_.size() || !requests_[place].is_used ||
      requests_[place].generation != number >> 32) {
    return nullptr;
  }
  return &requests_[place];
}

std::optional<std::uint32_t> LearnedChains::by_session(std::uint64_t session) const {
  const auto found = by_session_.find(session);
  return found == by_session_.end() ? std::nullopt : std::optional(found->second);
}

void LearnedChains::close(Ticket ticket) {
  Request* const request = find(ticket);
  if (request == nullptr) {
    return;
  }
  const auto place = static_cast<std::uint32_t>(request - requests_.data());
  if (const auto last = by_session_.find(request->session);
      last != by_session_.end() && last->second == place) {
    by_session_.erase(last);
  }
  unwatch(*request);
  unnamed_.gone(request->replica);
  under_way_.fetch_sub(1, std::memory_order_relaxed);
  marks_under_way_ -= request->marks.size();
  const std::uint32_t generation = request->generation;
  *request = {};
  request->generation = generation;
  free_.push_back(place);
}

/// Who gives up a request may not know the time.
void LearnedChains::expire(TimePoint now) {
  latest_ = std::max(latest_, now);
  while (!endings_.empty() && endings_.front().at <= now) {
    const Ticket ticket = endings_.front().ticket;
    endings_.pop_front();
    if (const Request* const request = find(ticket); request != nullptr && request->ended) {
      close(ticket);
    }
  }
}

std::optional<LearnedChains::Ends> LearnedChains::ended(Ticket ticket, TimePoint now) {
  const std::lock_guard lock(mutex_);
  expire(now);
  std::optional<Ends> ends;
  if (Request* const request = find(ticket); request != nullptr && --request->users == 0) {
    request->ended = true;
    if (request->marks.empty() && !request->ambiguous) {
      close(ticket);  // no event can teach anything of it
      return ends;
    }
    endings_.push_back({.ticket = ticket, .at = latest_ + kAfterAnswer});
    const std::size_t prompt_blocks = !request->hybrid ? 0
                                      : request->prompt_tokens != 0
                                          ? request->prompt_tokens / request->block_size
                                          : request->prefill_blocks;
    if (prompt_blocks > 0 && prompt_blocks <= request->chain.size()) {
      ends = {.stream = request->stream,
              .keys = {request->chain[prompt_blocks - 1], request->chain.back()}};
    }
  }
  return ends;
}

bool LearnedChains::save(ChainTree::NodeIndex& cursor, std::string& out) const {
  constexpr std::size_t kAtOnce = 1'048'576;
  const std::lock_guard lock(mutex_);
  return ChainTreeFile::save(tree_, cursor, kAtOnce, out);
}

bool LearnedChains::load(std::span<const std::string_view> pieces) {
  const std::lock_guard lock(mutex_);
  return ChainTreeFile::load(pieces, tree_);
}

LearnedChains::Stats LearnedChains::stats() const {
  const std::lock_guard lock(mutex_);
  Stats stats = counts_;
  stats.tree = tree_.stats();
  stats.under_way = requests_.size() - free_.size();
  stats.distrusted = trusts_.distrusted();
  return stats;
}

}  // namespace rolter::kvcache
