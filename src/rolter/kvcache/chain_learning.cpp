// What events, answers and tokenizers teach; the requests themselves are learned_chains.cpp's.
#include <algorithm>
#include <mutex>
#include <utility>

#include "rolter/kvcache/block_table.h"
#include "rolter/kvcache/common_length.h"
#include "rolter/kvcache/learned_chains.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace rolter::kvcache {
namespace {

/// The keys before the stored piece, from the index. False when one of them is not known there.
bool walk_back(const StoredChain& stored, std::vector<ChainKey>& keys) {
  keys.resize(stored.depth);
  ChainKey key = stored.parent;
  for (std::size_t i = stored.depth; i-- > 0;) {
    const BlockId node = stored.table->find(key);
    if (node == kNoBlock) {
      return false;
    }
    keys[i] = key;
    key = stored.table->parent(node);
  }
  return key == kRootKey;
}

}  // namespace

void LearnedChains::stored(const StoredChain& stored) {
  if (stored.keys.empty() || under_way_.load(std::memory_order_relaxed) == 0) {
    return;
  }
  if (stored.session_id.empty()) {
    return stored_unnamed(stored);
  }
  const std::uint64_t session =
      at_replica(XXH3_64bits(stored.session_id.data(), stored.session_id.size()), stored.replica);
  std::unique_lock lock(mutex_);
  unnamed_.heard(stored.replica, true);
  const auto request_of = [&]() -> Request* {
    const auto place = by_session(session);
    Request* const request = place ? &requests_[*place] : nullptr;
    return request == nullptr || request->ambiguous || request->marks.empty() ||
                   request->block_size != stored.block_size
               ? nullptr
               : request;
  };
  Request* request = request_of();
  // Of several replies none counts: the next prompt has one of them at most.
  const auto is_over = [](const Request& it) { return it.decoding && !it.one_reply; };
  if (request == nullptr || is_over(*request)) {
    return;
  }
  if (!reach(*request, stored)) {
    // Thousands of steps for a long prompt, without the lock: the index is this thread's.
    lock.unlock();
    const bool linked = walk_back(stored, walked_);
    lock.lock();
    request = request_of();
    if (!linked) {
      ++counts_.unlinked;
    }
    if (!linked || request == nullptr) {
      return;
    }
    request->chain = walked_;
  }
  request->stream = stored.stream;
  request->hybrid = stored.hybrid;
  note_phase(*request, stored.keys.size());
  if (!is_over(*request)) {
    request->chain.insert(request->chain.end(), stored.keys.begin(), stored.keys.end());
  }
  commit(*request);
}

/// Cuts the request's chain to what comes before the stored piece, if it is known without a walk.
bool LearnedChains::reach(Request& request, const StoredChain& stored) {
  const std::size_t depth = stored.depth;
  const auto leads_to = [&](const std::vector<ChainKey>& chain) {
    return depth == 0 || (chain.size() >= depth && chain[depth - 1] == stored.parent);
  };
  if (!leads_to(request.chain)) {
    request.place = tree_.find_again(request.marks, request.place);
    if (tree_.blocks_of(request.place.node) < depth) {
      return false;
    }
    tree_.chain_of(request.place.node, depth, request.chain);
    if (!leads_to(request.chain)) {
      request.chain.clear();
      return false;
    }
  }
  request.chain.resize(depth);
  return true;
}

/// Whether the new blocks are the prompt's or the reply's, as long as the engine has not said how
/// long the prompt is. A step of prefill fills any number of blocks, one of decoding at most one
/// (vLLM 0.32): the first piece is the prompt's unless the prompt is too short for it, a later one
/// when it has several blocks.
void LearnedChains::note_phase(Request& request, std::size_t new_blocks) {
  const std::size_t before = request.chain.size();
  const std::size_t end = (before + new_blocks) * request.block_size;
  if (request.decoding) {
    return;
  }
  if (request.prompt_tokens != 0) {
    request.decoding = end > request.prompt_tokens;
  } else if (new_blocks == 1) {
    const bool is_first = request.prefill_blocks == 0;
    request.decoding = !is_first || end > request.expected_tokens + request.block_size / 4;
  }
  request.prefill_blocks = static_cast<std::uint32_t>(before + (request.decoding ? 0 : new_blocks));
}

void LearnedChains::commit(Request& request) {
  if (!request.committed) {
    enter(request);
  } else {
    refresh(request);
  }
}

/// The first that is known of the request's chain.
void LearnedChains::enter(Request& request) {
  request.committed = true;
  ++counts_.learned;
  const ChainTree::Place place = tree_.find_again(request.marks, request.place);
  tree_.chain_of(place.node, tree_.blocks_of(place.node), known_);
  const std::size_t common = common_length(known_, request.chain);
  ChainTrust& trust = trusts_.of(request.trust_id);
  if (request.expected_blocks > 0 && request.chain.size() >= request.expected_blocks) {
    trust.proved(common + 1 >= request.expected_blocks);
  }
  if (tree_.ends_reply(place) && known_.size() > tree_.prompt_blocks(place.node)) {
    trust.reply_came_back(common == known_.size());
  }
  const bool part = common < known_.size() && common < request.chain.size();
  if (part) {
    tree_.part(place, static_cast<std::uint32_t>(common));
  }
  if (place.passed < request.marks.size()) {
    request.node = tree_.add({.marks = request.marks,
                              .kind = request.kind,
                              .block_size = request.block_size,
                              .tag = request.tag},
                             place, request.chain, common);
    request.owns_node = true;
    request.ends_node = true;
    set_prompt_end(request);
    confirm(request);
    attach_reply(request);
    return;
  }
  // A prompt that was known: what was missing of its chain, such as that of one given up.
  request.node = tree_.name_of(place.node);
  request.ends_node = place.mark == tree_.end_mark(place.node);
  const bool goes_on = common == known_.size() && request.chain.size() > common;
  if (request.ends_node && !request.decoding && goes_on) {
    tree_.set_chain(place.node, common, std::span(request.chain).subspan(common));
    request.owns_node = true;
    set_prompt_end(request);
  }
  confirm(request);
}

/// More of a chain that was entered before.
void LearnedChains::refresh(Request& request) {
  if (!request.owns_node || !tree_.is_alive(request.node)) {
    return;
  }
  tree_.chain_of(request.node.node, tree_.blocks_of(request.node.node), known_);
  const std::size_t common = common_length(known_, request.chain);
  if (common < request.chain.size() && common >= tree_.first_block(request.node.node)) {
    tree_.set_chain(request.node.node, common, std::span(request.chain).subspan(common));
  }
  if (!request.decoding) {
    set_prompt_end(request);
  }
}

/// As the engine reported it, else the middle of the block in which events say that it ends.
void LearnedChains::set_prompt_end(Request& request) {
  const std::uint32_t tokens =
      request.prompt_tokens != 0
          ? request.prompt_tokens
          : request.prefill_blocks * request.block_size + request.block_size / 2;
  tree_.set_prompt_tokens(request.node.node, tokens);
}

void LearnedChains::confirm(const Request& request) {
  if (request.ends_node && request.prompt_tokens != 0 && tree_.is_alive(request.node)) {
    tree_.confirm(request.node.node, request.prompt_tokens);
  }
}

void LearnedChains::attach_reply(Request& request) {
  if (request.reply.empty() || !request.owns_node || !tree_.is_alive(request.node) ||
      tree_.has_reply(request.node.node) || tree_.find(request.reply).passed > 0) {
    return;
  }
  tree_.add_reply(request.node.node, request.reply);
}

void LearnedChains::reported(Ticket ticket, std::uint32_t prompt_tokens,
                             std::optional<std::uint32_t> found) {
  const std::lock_guard lock(mutex_);
  Request* const request = find(ticket);
  if (request == nullptr || request->ambiguous || prompt_tokens == 0) {
    return;
  }
  request->prompt_tokens = prompt_tokens;
  if (found && request->predicted_tokens > 0 && request->one_reply) {
    trusts_.of(request->trust_id).proved(request->predicted_tokens <= *found + request->block_size);
  }
  if (request->owns_node && tree_.is_alive(request->node)) {
    set_prompt_end(*request);
  }
  confirm(*request);
}

void LearnedChains::replied(Ticket ticket, std::string_view text) {
  const std::lock_guard lock(mutex_);
  Request* const request = find(ticket);
  if (request == nullptr || request->ambiguous || !request->one_reply ||
      request->kind != PromptKind::kChat || request->marks.empty() || text.empty() ||
      text.front() != kOpensReply) {
    return;
  }
  request->reply.clear();
  mark_more(request->marks.back(), text.substr(1), request->reply);
  if (request->committed) {
    attach_reply(*request);
  }
}

bool LearnedChains::tokenized(Ticket ticket, std::span<const ChainKey> chain,
                              std::uint32_t prompt_tokens) {
  const std::lock_guard lock(mutex_);
  Request* const request = find(ticket);
  if (request == nullptr || request->ambiguous || request->marks.empty() || request->committed) {
    return false;
  }
  request->prompt_tokens = prompt_tokens;
  request->prefill_blocks = static_cast<std::uint32_t>(chain.size());
  request->chain.assign(chain.begin(), chain.end());
  ++counts_.tokenized;
  enter(*request);
  follow(*request);
  return true;
}

/// A block that an engine has stored for somebody: whose it is shows where it is.
void LearnedChains::stored_unnamed(const StoredChain& stored) {
  const std::lock_guard lock(mutex_);
  unnamed_.heard(stored.replica, false);
  if (stored.keys.size() != 1) {
    return;  // a step of prefill
  }
  unnamed_.stored(stored.replica, stored.parent, stored.keys.front());
  const auto watcher = unnamed_.watcher(stored.replica, stored.parent);
  if (Request* const request = watcher ? find(Ticket{*watcher}) : nullptr; request != nullptr) {
    follow(*request);
  }
}

/// Takes up what has been stored behind the request's chain.
void LearnedChains::follow(Request& request) {
  if (request.chain.empty()) {
    return;
  }
  unwatch(request);
  request.decoding = true;
  const std::size_t before = request.chain.size();
  while (request.owns_node && request.one_reply &&
         !unnamed_.is_watched(request.replica, request.chain.back())) {
    const auto next = unnamed_.after(request.replica, request.chain.back(), request.begun);
    if (!next) {
      break;
    }
    request.chain.push_back(*next);
  }
  watch(request);
  if (request.chain.size() > before) {
    refresh(request);
  }
}

void LearnedChains::watch(Request& request) {
  request.watched_end = request.chain.back();
  unnamed_.watch(request.replica, *request.watched_end, std::to_underlying(ticket_of(request)));
}

void LearnedChains::unwatch(Request& request) {
  if (const auto end = std::exchange(request.watched_end, std::nullopt)) {
    unnamed_.unwatch(request.replica, *end, std::to_underlying(ticket_of(request)));
  }
}

}  // namespace rolter::kvcache
