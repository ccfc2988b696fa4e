// What a strategy is told of a request: for the pick, and to be remembered.
#include "rolter/kvcache/token_ids_header.h"
#include "rolter/openai/prompt_text.h"
#include "rolter/proxy/forwarding.h"
#include "rolter/proxy/prompt_blocks.h"

namespace rolter::proxy {

void Forwarding::read_token_ids() {
  if (!route_.strategy->uses_token_ids()) {
    return;
  }
  const std::string_view header = client_.head().fields.get(http::kTokenIdsField);
  if (!header.empty() && !kvcache::parse_token_ids(header, token_ids_)) {
    loop_.recorder.bad_token_ids(state_, route_.index);
  }
}

balance::PickInput Forwarding::pick_input() {
  const openai::RequestView& view = request_.view();
  const std::string_view session = client_.head().fields.get("x-session-id");
  const bool uses_cache = !view.prompt.text.empty();  // /tokenize and the like do not
  return {
      .eligible = loop_.candidates,
      .prompt = view.prompt,
      .token_ids = !uses_cache          ? std::span<const TokenId>()
                   : token_ids_.empty() ? view.prompt_token_ids
                                        : std::span<const TokenId>(token_ids_),
      .session = session.empty() ? view.session_id : session,
      .now = loop_.loop.now(),
      .cache_salt = view.cache_salt,
      .streamed = view.stream,
      .cached_tokens = {},
      .choices = view.choices,
      .session_is_clear = session.empty() || view.session_id.empty() || session == view.session_id};
}

void Forwarding::remember(Try& now) {
  if (holder_is_only_ || !is_still_served(now)) {
    return;
  }
  const auto& target = targets().targets[now.target];
  cluster::Candidate chosen;
  chosen.target = now.target;
  chosen.replica = target.replica->slot();
  chosen.rank = facts_.decision.rank;
  loop_.candidates.assign(1, chosen);
  balance::PickInput in = pick_input();
  in.cached_tokens = facts_.decision.cached_tokens;
  in.decided = now.by_strategy ? &facts_.decision : nullptr;
  now.record = {};
  now.record = route_.strategy->record(in, chosen);
}

/// The engine has begun to answer: what it is asked for by the way does not delay this request.
void Forwarding::have_tokenized(const Try& now) {
  const auto& wanted = now.record.tokens_wanted();
  const openai::Endpoint endpoint = request_.endpoint();
  if (!wanted || !state_.config.routes[route_.index].tokenize_learn ||
      (endpoint != openai::Endpoint::kChatCompletions &&
       endpoint != openai::Endpoint::kCompletions)) {
    return;
  }
  const openai::RequestView& view = request_.view();
  const std::string& model = targets().targets[now.target].model;
  std::string body;
  for (const std::string_view piece :
       openai::splice_model(request_.body(), view, model, spliced_model_).pieces) {
    body += piece;
  }
  loop_.shared.unlearned.offer({.route = route_.model,
                                .model = model,
                                .body = std::move(body),
                                .cache_salt = std::string(view.cache_salt),
                                .by_adapter = wanted->by_adapter,
                                .block_size = wanted->block_size,
                                .ticket = wanted->ticket});
}

void Forwarding::note_prompt_blocks() {
  if (state_.config.log.blocks && facts_.prompt_blocks.empty()) {
    const openai::Prompt& prompt = request_.view().prompt;
    facts_.prompt_bytes = prompt.text.size();
    append_prompt_blocks(prompt, state_.digest_seed, facts_.prompt_blocks);
  }
}

/// Once per request: a shadow knows no failures.
void Forwarding::begin_shadows() {
  if (route_.shadows.empty() || !shadows_.empty()) {
    return;
  }
  const balance::PickInput in = pick_input();
  shadows_.reserve(route_.shadows.size());
  for (const auto& shadow : route_.shadows) {
    shadows_.emplace_back(*shadow, in, facts_.decision.target);
  }
}

void Forwarding::end_shadows(TimePoint now) {
  for (balance::Shadow::Ride& shadow : shadows_) {
    shadow.end(usage_for_memory(), now);
  }
  shadows_.clear();
}

std::optional<balance::PromptUsage> Forwarding::usage_for_memory() const {
  if (!facts_.usage) {
    return std::nullopt;
  }
  return balance::PromptUsage{.prompt_tokens = facts_.usage->prompt_tokens,
                              .cached_tokens = facts_.usage->cached_tokens};
}

/// The next prompt of a conversation has it as a turn, that of a completion as mere text.
void Forwarding::remember_reply(Try& now, std::string_view text) {
  if (text.empty()) {
    return;
  }
  if (request_.endpoint() != openai::Endpoint::kCompletions) {
    text = loop_.turn.assign(1, openai::PromptText::kAssistantTurn).append(text);
  }
  now.record.reply(text);
  for (balance::Shadow::Ride& shadow : shadows_) {
    shadow.reply(text);
  }
}

}  // namespace rolter::proxy
