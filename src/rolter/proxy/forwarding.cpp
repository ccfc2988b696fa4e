#include "rolter/proxy/forwarding.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/deferred.hpp>
#include <utility>

#include "rolter/cluster/outcome.h"
#include "rolter/proxy/upstream_request.h"

namespace rolter::proxy {
namespace {

using cluster::Outcome;

constexpr std::chrono::seconds kLossCheckInterval{1};
// A replica whose port refuses may still finish what it has begun; one that has been silent for so
// long since then will not (vLLM 0.32 after SIGTERM leaves responses open without an end).
constexpr std::chrono::seconds kLostAfter{3};
constexpr std::chrono::seconds kDefaultStreamPatience{600};

}  // namespace

Forwarding::Forwarding(LoopState& loop, http::ServerConnection& client, const GatewayState& state,
                       const Route& route, ParsedRequest& request, RequestFacts& facts)
    : loop_(loop),
      client_(client),
      state_(state),
      route_(route),
      request_(request),
      facts_(facts),
      patience_(loop.loop.wheel(), [this] { on_patience_ended(); }),
      loss_check_(loop.loop.wheel(), [this] { check_for_loss(); }),
      streamed_(request.view().stream),
      has_prompt_(!request.view().prompt.text.empty()),
      asks_usage_(state.config.routes[route.index].ask_usage &&
                  !request.view().asking_usage.text.empty()) {}

http::Task<Forwarding::Answered> Forwarding::run() {
  read_token_ids();
  client_.watch([this] { interrupt_.fire(InterruptCause::kClientGone); });
  auto answered = co_await attempts();
  client_.unwatch();
  facts_.client_gone = interrupt_.client_gone();
  co_return answered;
}

http::Task<Forwarding::Answered> Forwarding::attempts() {
  while (true) {
    auto chosen = choose();
    if (!chosen && chosen.error() == NoTarget::kAtCap) {
      chosen = co_await choose_after_waiting();
    }
    if (interrupt_.client_gone()) {
      co_return Ending::kBroken;
    }
    if (!chosen) {
      co_return std::unexpected(no_target(chosen.error()));
    }
    auto ended = co_await attempt(*chosen);
    patience_.disarm();
    loss_check_.disarm();
    if (ended) {
      co_return *ended;
    }
    const Failure& failure = ended.error();
    facts_.error = failure.why;
    report(*chosen, failure);
    if (interrupt_.client_gone()) {
      co_return Ending::kBroken;
    }
    loop_.recorder.attempt_failed(state_, route_.index, chosen->target, failure.outcome,
                                  failure.why);
    *chosen = Try{};
    const auto decision = failure.decided ? *failure.decided : decide(failure);
    if (!decision.retry()) {
      route_is_out_ = is_route_out_after(failure.outcome);
      co_return std::unexpected(no_answer(failure.outcome));
    }
    co_await wait(decision.wait);
    if (interrupt_.client_gone()) {
      co_return Ending::kBroken;
    }
    interrupt_.next_attempt();
    if (failure.outcome != Outcome::kStaleConnection) {
      ++facts_.retries;
    }
  }
}

http::Task<std::expected<Ending, Forwarding::Failure>> Forwarding::attempt(Try& now) {
  const auto& target = targets().targets[now.target];
  waiting_for_ = target.replica.get();
  last_byte_ = loop_.loop.now();
  watch_patience();
  if (heartbeat_ != nullptr) {
    heartbeat_->resume();
  }
  if (auto heads = co_await exchange_heads(now); !heads) {
    co_return std::unexpected(std::move(heads.error()));
  }
  co_return co_await answer(now);
}

/// All attempts share one patience, so that retries never make a client wait longer than it was
/// promised; only a replica that has used it up leaves the next one a patience of its own.
void Forwarding::watch_patience() {
  loss_check_.arm(kLossCheckInterval);
  const Duration patience = state_.config.timeouts.request.value_or(
      streamed_ ? config::milliseconds{kDefaultStreamPatience} : config::milliseconds{0});
  if (patience <= Duration::zero()) {
    return;
  }
  const TimePoint now = loop_.loop.now();
  if (answer_due_ == TimePoint::max() || answer_due_ <= now) {
    answer_due_ = now + patience;
  }
  patience_.arm(answer_due_ - now);
}

void Forwarding::on_patience_ended() {
  interrupt_.fire(committed_ ? InterruptCause::kStalled : InterruptCause::kNoFirstByte);
}

void Forwarding::check_for_loss() {
  const auto since = waiting_for_->refused_since();
  if (since && last_byte_ < *since && loop_.loop.now() - *since > kLostAfter) {
    interrupt_.fire(InterruptCause::kReplicaLost);
  } else {
    loss_check_.arm(kLossCheckInterval);
  }
}

http::Task<std::expected<void, Forwarding::Failure>> Forwarding::exchange_heads(Try& now) {
  // A pooled connection may turn out to have been closed by the replica at this very moment, which
  // is nobody's failure: then once more on a fresh one.
  for (bool fresh = fresh_only_;; fresh = true) {
    if (auto connected = co_await connect(now, fresh); !connected) {
      co_return connected;
    }
    const bool reused = now.connection->exchanges() > 0;
    const Interrupt::Guard guard(interrupt_, [&now] { now.connection->abort(); });
    // Before the turn, in which others choose and parse: what they do would cost another parse. The
    // strategy may give it a session to go under.
    remember(now);
    const openai::SplicedBody body = body_for(now);
    co_await loop_.loop.turn();
    const Result<void> sent = co_await send(now, body);
    if (!sent) {
      now.connection->end_sending();
    }
    facts_.sent = true;
    Result<void> headed = co_await now.connection->read_head(client_.head().method == "HEAD");
    if (headed) {
      have_tokenized(now);
      co_return std::expected<void, Failure>{};
    }
    now.record = {};
    const Error& error = sent ? headed.error() : sent.error();
    const bool unanswered = reused && !now.connection->has_answer_bytes() &&
                            interrupt_.cause() == InterruptCause::kNone;
    if (unanswered && error.kind == ErrorKind::kConnectionReset) {
      // Closed just before our request came, or reset because of it: from here they look alike.
      // Nobody's failure then, but rather another replica if there is one.
      fresh_only_ = true;
      co_return std::unexpected(
          Failure{.outcome = Outcome::kStaleConnection, .why = "a reused connection was reset"});
    }
    if (!(unanswered && error.kind == ErrorKind::kConnectionClosed)) {
      co_return std::unexpected(failure_of(error));
    }
  }
}

http::Eventual<std::expected<void, Forwarding::Failure>> Forwarding::connect(Try& now, bool fresh) {
  if (!now.link) {
    now.link = loop_.link(provider(now), targets().targets[now.target].replica->slot());
  }
  if (!fresh) {
    now.connection = now.link->pool.take_idle();
    if (now.connection) {
      return std::expected<void, Failure>{};
    }
  }
  return dial(now);
}

http::Task<std::expected<void, Forwarding::Failure>> Forwarding::dial(Try& now) {
  const Provider& to = provider(now);
  http::Dialer dialer(loop_.loop);
  const Interrupt::Guard guard(interrupt_, [&dialer] { dialer.abort(); });
  auto dialed = co_await dialer.dial(now.link->addresses.get(), to.egress,
                                     state_.config.timeouts.connect, to.tls);
  if (!dialed) {
    co_return std::unexpected(failure_of(dialed.error()));
  }
  now.connection = std::move(*dialed);
  co_return std::expected<void, Failure>{};
}

namespace {

void add_pieces(const openai::SplicedBody& body, http::Gather& out) {
  for (const std::string_view piece : body.pieces) {
    out.add(piece);
  }
}

/// The head lies in the loop's working memory and is copied; the body stays where it is.
http::Task<Result<void>> send_rest(http::UpstreamConnection& connection, std::string rest_of_head,
                                   openai::SplicedBody body, std::size_t body_sent) {
  http::Gather rest{rest_of_head};
  add_pieces(body, rest);
  rest.consume(body_sent);
  co_return co_await connection.send_rest(rest);
}

}  // namespace

openai::SplicedBody Forwarding::body_for(const Try& now) {
  if (holder_is_only_) {
    return {{request_.body()}};
  }
  const auto splice = asks_usage_ ? openai::splice_model_and_usage : openai::splice_model;
  return splice(request_.body(), request_.view(), targets().targets[now.target].model,
                spliced_model_);
}

http::Eventual<Result<void>> Forwarding::send(Try& now, const openai::SplicedBody& body) {
  const kvcache::TagText session(now.record.session());
  write_upstream_head(
      {.head = client_.head(),
       .provider = provider(now),
       .request_id = facts_.request_id,
       .content_length = body.size(),
       .has_body = body.size() > 0 || client_.head().method == "POST",
       .strips_credentials = state_.config.auth == config::AuthMode::kKeys,
       .asks_identity = heartbeat_ != nullptr || asks_usage_,
       .rank = facts_.decision.rank,
       .session_id = now.record.session() == kvcache::SessionTag::kNone ? std::string_view()
                                                                        : session.view()},
      loop_.head);
  http::Gather out{loop_.head};
  add_pieces(body, out);
  auto sent = now.connection->try_send(out);
  if (!sent || out.empty()) {
    return sent;
  }
  const std::size_t head_left = out.size() > body.size() ? out.size() - body.size() : 0;
  std::string rest_of_head = loop_.head.substr(loop_.head.size() - head_left);
  const std::size_t body_sent = head_left == 0 ? body.size() - out.size() : 0;
  return send_rest(*now.connection, std::move(rest_of_head), body, body_sent);
}

/// False when a reload has taken the replica away since this request began: then nothing more is
/// remembered of it.
bool Forwarding::is_still_served(const Try& now) const {
  const GatewayState& newest = *loop_.state.get();
  const auto& replica = targets().targets[now.target].replica;
  return newest.version == state_.version ||
         std::ranges::find(newest.cluster->replicas, replica) != newest.cluster->replicas.end();
}

Forwarding::Failure Forwarding::failure_of(const Error& error) const {
  switch (interrupt_.cause()) {
    case InterruptCause::kClientGone:
      return {.outcome = Outcome::kClientGone, .why = "the client left"};
    case InterruptCause::kNoFirstByte:
      return {.outcome = Outcome::kTimeout, .why = "no first byte in time"};
    case InterruptCause::kReplicaLost:
      return {.outcome = Outcome::kReset, .why = "the replica went away without a word"};
    case InterruptCause::kStalled:
    case InterruptCause::kNone:
      break;
  }
  return {.outcome = cluster::classify_error(error, cluster::Progress::kNothingRelayed),
          .why = error.message};
}

void Forwarding::report(Try& now, const Failure& failure) {
  facts_.outcome = failure.outcome;
  const auto changed =
      now.attempt.finish({.outcome = failure.outcome,
                          .retry_after = failure.retry_after,
                          .may_cool = may_cool_ ? cluster::MayCool::kYes : cluster::MayCool::kNo},
                         loop_.loop.now());
  if (route_.queue) {
    route_.queue->place_freed();
  }
  if (changed.any()) {
    may_cool_ = may_cool_ && !changed.cooled_for;
    loop_.recorder.replica_changed(state_, targets().targets[now.target].provider, changed);
  }
}

cluster::RetryDecision Forwarding::decide(const Failure& failure) {
  if (holder_is_only_ && failure.outcome != Outcome::kStaleConnection) {
    return {};
  }
  const TimePoint now = loop_.loop.now();
  const auto next = cluster::eligible_targets(targets(), now, tried_, loop_.candidates);
  const TimePoint deadline = failure.outcome == Outcome::kTimeout ? TimePoint::max() : answer_due_;
  return state_.retry_policy.decide({.outcome = failure.outcome,
                                     .retries_done = facts_.retries,
                                     .next = next,
                                     .retry_after = failure.retry_after,
                                     .now = now,
                                     .deadline = deadline},
                                    loop_.shared.retry_budget, loop_.rng);
}

/// Whether nobody is left to whom the route could still send the request.
bool Forwarding::is_route_out_after(Outcome outcome) {
  using cluster::Availability;
  const auto left =
      cluster::eligible_targets(targets(), loop_.loop.now(), tried_, loop_.candidates);
  return cluster::worth_retrying(outcome) &&
         (left == Availability::kOnlyTried || left == Availability::kFailOpen ||
          left == Availability::kAllDrained);
}

http::Task<> Forwarding::wait(Duration duration) {
  if (duration > Duration::zero()) {
    http::LoopTimer timer(loop_.loop.io().get_executor());
    timer.expires_after(duration);
    const Interrupt::Guard guard(interrupt_, [&timer] { timer.cancel(); });
    co_await timer.async_wait(boost::asio::as_tuple(boost::asio::deferred));
  }
}

}  // namespace rolter::proxy
