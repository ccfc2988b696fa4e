// The way back: holding, judging, committing and relaying an answer.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "rolter/cluster/outcome.h"
#include "rolter/cluster/retry_after.h"
#include "rolter/openai/error_event.h"
#include "rolter/proxy/client_answer.h"
#include "rolter/proxy/explain_field.h"
#include "rolter/proxy/forwarding.h"

namespace rolter::proxy {
namespace {

using cluster::Outcome;

/// Of a reply, what is read: 10,000 tokens and more. It bounds what an answer under way may hold.
constexpr std::size_t kReplyBytes = 65'536;

bool type_is(const http::ResponseHead& head, std::string_view type) {
  return http::iequals(head.fields.get("content-type").substr(0, type.size()), type);
}

bool is_plain(const http::ResponseHead& head) {
  const std::string_view coding = head.fields.get("content-encoding");
  return coding.empty() || http::iequals(coding, "identity");
}

/// Compressed bodies pass unseen: an observer would only read noise.
std::unique_ptr<openai::AnswerObserver> observer_for(const http::ResponseHead& head,
                                                     openai::Endpoint endpoint,
                                                     openai::ObserverOptions options) {
  if (!is_plain(head)) {
    return nullptr;
  }
  if (is_event_stream(head)) {
    return openai::make_sse_observer(endpoint, options);
  }
  if (type_is(head, "application/json")) {
    return openai::make_json_observer(endpoint, options);
  }
  return nullptr;
}

}  // namespace

http::Task<std::expected<Ending, Forwarding::Failure>> Forwarding::answer(Try& now) {
  const Interrupt::Guard guard(interrupt_, [&now] { now.connection->abort(); });
  co_await loop_.loop.turn();
  const http::ResponseHead& head = now.connection->head();
  const bool streams = head.status == 200 && is_event_stream(head) && is_plain(head);
  const bool in_stream = heartbeat_ != nullptr && heartbeat_->begun();
  if (heartbeat_ != nullptr && !streams && !in_stream) {
    heartbeat_->pause();
  }
  // What an answer has cost was counted when it was given.
  AnswerRelay relay(
      client_, *now.connection,
      holder_is_only_ ? nullptr : observer_for(head, request_.endpoint(), observes()));
  if (client_.head().minor_version == 0 && head.framing == http::Framing::kChunked) {
    relay.strip_framing();
  }
  if (in_stream && !streams) {
    relay.hold_whole();
  }
  if (asks_usage_ && !holder_is_only_ && streams && relay.observer() != nullptr) {
    relay.filter_usage(head.framing);
  }
  if (auto held = co_await relay.hold(); !held) {
    co_return std::unexpected(failure_of(held.error()));
  }
  Failure verdict = judge(now, relay);
  if (verdict.outcome == Outcome::kKeyRejected && provider(now).replaces_authorization) {
    // About our key: its caller can do nothing with it, and a retry would not mend it.
    verdict.why = "the replica rejected the gateway's key";
    co_return std::unexpected(std::move(verdict));
  }
  if (cluster::worth_retrying(verdict.outcome)) {
    // Decided while the answer is still at hand: if nobody else may be asked, this is the answer.
    verdict.decided = decide(verdict);
    if (verdict.decided->retry() || (route_.fallback && is_route_out_after(verdict.outcome))) {
      if (relay.complete()) {
        now.link->pool.put_back(std::move(now.connection));
      }
      co_return std::unexpected(std::move(verdict));
    }
  }
  if (in_stream && !streams) {
    co_return co_await tell_in_stream(now, relay, std::move(verdict));
  }
  co_return co_await pass_on(now, relay, std::move(verdict));
}

/// A reply is read where a strategy remembers it and the next turn may bring it back.
openai::ObserverOptions Forwarding::observes() const {
  const bool remembers = route_.strategy->remembers_replies() ||
                         std::ranges::any_of(route_.shadows, [](const auto& shadow) {
                           return shadow->strategy().remembers_replies();
                         });
  const bool reads_reply =
      state_.config.routes[route_.index].record_replies && remembers && has_prompt_;
  return {.reply_bytes = reads_reply ? kReplyBytes : 0};
}

Forwarding::Failure Forwarding::judge(const Try& now, const AnswerRelay& relay) {
  const http::ResponseHead& head = now.connection->head();
  Failure verdict{.outcome = cluster::classify_status(head.status, relay.held())};
  if (relay.observer() != nullptr && relay.observer()->is_empty_abort()) {
    verdict.outcome = Outcome::kAbortedEmpty;
  }
  if (cluster::worth_retrying(verdict.outcome)) {
    verdict.why = "the replica answered " + std::to_string(head.status);
    if (const auto wish =
            cluster::parse_retry_after(head.fields.get("retry-after"), loop_.loop.wall_now())) {
      verdict.retry_after = *wish;
    }
  }
  return verdict;
}

void Forwarding::remember_answer(const Try& now, const AnswerRelay& relay) {
  if (request_.endpoint() != openai::Endpoint::kResponses || holder_is_only_ ||
      !is_still_served(now)) {
    return;
  }
  if (const std::string_view id = stored_answer_id(relay.held()); !id.empty()) {
    loop_.shared.stored_answers.remember(id, targets().targets[now.target].replica->slot(),
                                         loop_.loop.now());
  }
}

http::Task<Ending> Forwarding::pass_on(Try& now, AnswerRelay& relay, Failure verdict) {
  const http::ResponseHead& head = now.connection->head();
  const bool in_stream = heartbeat_ != nullptr && heartbeat_->begun();
  const bool until_close =
      !in_stream &&
      (head.framing == http::Framing::kUntilClose ||
       (head.framing == http::Framing::kChunked && client_.head().minor_version == 0));
  const bool keep_alive =
      in_stream ? heartbeat_->keeps_alive() : !until_close && loop_.keeps_alive(client_.head());
  facts_.ttft = loop_.loop.now() - facts_.started;
  const std::string_view first = begin_answer(now, relay, keep_alive);
  committed_ = true;
  if (verdict.outcome == Outcome::kServed) {
    now.record.keep(loop_.loop.now());
    for (balance::Shadow::Ride& shadow : shadows_) {
      shadow.keep(loop_.loop.now());
    }
    remember_answer(now, relay);
  } else {
    now.record = {};  // an error's prompt has not been computed
    shadows_.clear();
  }
  std::vector<TokenId>().swap(token_ids_);
  patience_.arm(state_.config.timeouts.idle);
  Result<void> done = co_await relay.commit(first);
  if (!relay.complete()) {
    client_.release_request();
  }
  auto on_progress = [this] {
    last_byte_ = loop_.loop.now();
    patience_.arm(state_.config.timeouts.idle);
  };
  if (done) {
    done = co_await relay.relay(on_progress);
  }
  if (!done && until_close) {
    client_.stream().reset_at_abort();  // an orderly end would look like the answer's
  }
  co_return finish(now, relay, std::move(verdict), done, keep_alive);
}

/// What goes before the body: the head, or in a stream that a heartbeat has begun what is left of
/// it.
std::string_view Forwarding::begin_answer(const Try& now, AnswerRelay& relay, bool keep_alive) {
  const http::ResponseHead& head = now.connection->head();
  if (heartbeat_ != nullptr) {
    const std::string_view unsent = heartbeat_->stop();
    if (heartbeat_->begun()) {
      if (head.framing != http::Framing::kChunked) {
        relay.make_chunks();
      }
      return unsent;
    }
  }
  facts_.status = head.status;
  std::string extra_fields = facts_.limit_fields;
  if (facts_.explains) {
    extra_fields += explain_field(state_, facts_);
  }
  write_relayed_head({.head = head,
                      .request_id = facts_.request_id,
                      .provider = provider(now).name,
                      .target_label = facts_.target_label,
                      .client_minor_version = client_.head().minor_version,
                      .keep_alive = keep_alive,
                      .extra_fields = extra_fields},
                     loop_.head);
  return loop_.head;
}

/// An answer that is no event stream, to a client whose stream a heartbeat has begun. It learns of
/// an error what the replica said of it.
http::Task<Ending> Forwarding::tell_in_stream(Try& now, AnswerRelay& relay, Failure verdict) {
  const http::ResponseHead& head = now.connection->head();
  now.record = {};
  facts_.error = fmt::format("the replica answered {} {} when the stream had begun", head.status,
                             head.fields.get("content-type"));
  std::string json(relay.whole());
  if (!relay.complete() || !is_plain(head) || !openai::names_error(json)) {
    OwnError error = late_answer(head.status, is_plain(head) ? json : std::string());
    json = own_error_body(error, openai::shape_of(request_.endpoint()), facts_.request_id);
  }
  report(now, verdict);
  if (cluster::worth_retrying(verdict.outcome)) {
    loop_.recorder.attempt_failed(state_, route_.index, now.target, verdict.outcome, verdict.why);
  }
  if (relay.complete()) {
    now.link->pool.put_back(std::move(now.connection));
  }
  co_return co_await heartbeat_->end_with(openai::error_event(request_.endpoint(), json));
}

Ending Forwarding::finish(Try& now, const AnswerRelay& relay, Failure verdict,
                          const Result<void>& done, bool keep_alive) {
  facts_.bytes_out = relay.bytes_out() + (heartbeat_ != nullptr ? heartbeat_->bytes_out() : 0);
  if (relay.observer() != nullptr) {
    facts_.usage = relay.observer()->usage();
    if (done) {
      remember_reply(now, relay.observer()->reply_text());
    }
  }
  if (const auto usage = usage_for_memory()) {
    now.record.report(*usage);
  }
  now.record.end(loop_.loop.now());
  end_shadows(loop_.loop.now());
  if (done) {
    report(now, verdict);
    // Worth it, and yet this is the answer: nobody else was to be asked.
    if (cluster::worth_retrying(verdict.outcome)) {
      loop_.recorder.attempt_failed(state_, route_.index, now.target, verdict.outcome, verdict.why);
    }
    now.link->pool.put_back(std::move(now.connection));
    return keep_alive ? Ending::kReusable : Ending::kClose;
  }
  const bool client_left = interrupt_.client_gone() || done.error().source == ErrorSource::kClient;
  facts_.error = client_left ? "the client left" : "the answer broke off: " + done.error().message;
  report(now, {.outcome = client_left ? Outcome::kClientGone : Outcome::kBrokenStream});
  if (client_left) {
    interrupt_.fire(InterruptCause::kClientGone);
  } else {
    loop_.recorder.attempt_failed(state_, route_.index, now.target, Outcome::kBrokenStream,
                                  facts_.error);
  }
  return Ending::kBroken;
}

}  // namespace rolter::proxy
