// What a strategy is told of a request: for the pick, and to be remembered.
#include "rolter/kvcache/token_ids_header.h"
#include "rolter/openai/prompt_text.h"
#include "rolter/proxy/forwarding.h"

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
      .trace = {},
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
  in.trace = facts_.decision.trace;
  in.cached_tokens = facts_.decision.cached_tokens;
  now.record = {};
  now.record = route_.strategy->record(in, chosen);
}

/// The next prompt of a conversation has it as a turn, that of a completion as mere text.
void Forwarding::remember_reply(Try& now, std::string_view text) {
  if (text.empty()) {
    return;
  }
  if (request_.endpoint() == openai::Endpoint::kCompletions) {
    now.record.reply(text);
    return;
  }
  std::string turn(1, openai::PromptText::kAssistantTurn);
  turn += text;
  now.record.reply(turn);
}

}  // namespace rolter::proxy
