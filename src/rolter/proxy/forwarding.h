#pragma once

#include <absl/container/inlined_vector.h>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rolter/balance/shadow.h"
#include "rolter/balance/strategy.h"
#include "rolter/cluster/attempt.h"
#include "rolter/cluster/retry_policy.h"
#include "rolter/http/server_connection.h"
#include "rolter/openai/model_splice.h"
#include "rolter/proxy/answer_relay.h"
#include "rolter/proxy/ending.h"
#include "rolter/proxy/heartbeat.h"
#include "rolter/proxy/interrupt.h"
#include "rolter/proxy/loop_state.h"
#include "rolter/proxy/own_error.h"
#include "rolter/proxy/parsed_request.h"
#include "rolter/proxy/request_facts.h"

namespace rolter::proxy {

/// One request on its way to a replica and its answer on the way back: picks a target, sends,
/// and tries another one for as long as the client has seen nothing and the rules of retrying
/// allow. Lives on the loop for the time of the request; holds its load counts meanwhile.
class Forwarding {
 public:
  Forwarding(LoopState& loop, http::ServerConnection& client, const GatewayState& state,
             const Route& route, ParsedRequest& request, RequestFacts& facts);

  enum class Holder : std::uint8_t {
    kPreferred,  // if it is eligible; any other will do
    kOnly,       // nobody else can answer, and the body goes there as it is
  };
  /// Before run(): this target holds what the request refers to.
  void goes_to(std::size_t target, Holder how) {
    holder_ = target;
    holder_is_only_ = how == Holder::kOnly;
  }

  /// Before run(): beats while the first byte is awaited.
  void beats_with(Heartbeat& heartbeat) { heartbeat_ = &heartbeat; }

  /// An error means that nothing has been sent to the client but what the heartbeat has, and that
  /// it is to be told.
  [[nodiscard]] http::Task<std::expected<Ending, OwnError>> run();

  /// After an error: whether that was all the route has, so that its fallback may be asked.
  [[nodiscard]] bool route_is_out() const { return route_is_out_; }

 private:
  using Answered = std::expected<Ending, OwnError>;

  /// One attempt's belongings, in the order in which they come to life.
  struct Try {
    std::size_t target = 0;
    bool by_strategy = false;  // whose decision RequestFacts has
    cluster::Attempt attempt;
    std::shared_ptr<ProviderLink> link;
    std::unique_ptr<http::UpstreamConnection> connection;
    balance::Record record;
  };
  /// An attempt that gave the client nothing.
  struct Failure {
    cluster::Outcome outcome = cluster::Outcome::kAbandoned;
    std::optional<Duration> retry_after{};
    std::string why{};
    std::optional<cluster::RetryDecision> decided{};  // whether to try again, if decided already
  };

  enum class NoTarget : std::uint8_t { kDrained, kRouteOut, kAtCap, kQueueFull, kQueueTimedOut };

  [[nodiscard]] std::expected<Try, NoTarget> choose();
  [[nodiscard]] std::expected<Try, NoTarget> choose_now();
  [[nodiscard]] std::optional<Try> choose_holder(TimePoint now);
  void take(const Try& chosen);
  void note_prompt_blocks();
  void begin_shadows();
  void end_shadows(TimePoint now);
  void remember_answer(const Try& now, const AnswerRelay& relay);
  [[nodiscard]] http::Task<std::expected<Try, NoTarget>> choose_after_waiting();
  [[nodiscard]] TimePoint next_return() const;
  [[nodiscard]] OwnError no_target(NoTarget why);
  void read_token_ids();
  [[nodiscard]] balance::PickInput pick_input();
  [[nodiscard]] http::Task<Answered> attempts();
  [[nodiscard]] http::Task<std::expected<Ending, Failure>> attempt(Try& now);
  [[nodiscard]] http::Task<std::expected<void, Failure>> exchange_heads(Try& now);
  [[nodiscard]] http::Eventual<std::expected<void, Failure>> connect(Try& now, bool fresh);
  [[nodiscard]] http::Task<std::expected<void, Failure>> dial(Try& now);
  [[nodiscard]] openai::SplicedBody body_for(const Try& now);
  [[nodiscard]] http::Eventual<Result<void>> send(Try& now, const openai::SplicedBody& body);
  void remember(Try& now);
  void have_tokenized(const Try& now);
  void remember_reply(Try& now, std::string_view text);
  [[nodiscard]] std::optional<balance::PromptUsage> usage_for_memory() const;
  [[nodiscard]] bool is_still_served(const Try& now) const;
  [[nodiscard]] http::Task<std::expected<Ending, Failure>> answer(Try& now);
  [[nodiscard]] openai::ObserverOptions observes() const;
  [[nodiscard]] Failure judge(const Try& now, const AnswerRelay& relay);
  [[nodiscard]] http::Task<Ending> pass_on(Try& now, AnswerRelay& relay, Failure verdict);
  [[nodiscard]] std::string_view begin_answer(const Try& now, AnswerRelay& relay, bool keep_alive);
  [[nodiscard]] http::Task<Ending> tell_in_stream(Try& now, AnswerRelay& relay, Failure verdict);
  [[nodiscard]] Ending finish(Try& now, const AnswerRelay& relay, Failure verdict,
                              const Result<void>& done, bool keep_alive);
  [[nodiscard]] cluster::RetryDecision decide(const Failure& failure);
  [[nodiscard]] bool is_route_out_after(cluster::Outcome outcome);
  [[nodiscard]] http::Task<> wait(Duration duration);
  void report(Try& now, const Failure& failure);
  [[nodiscard]] Failure failure_of(const Error& error) const;
  void watch_patience();
  void on_patience_ended();
  void check_for_loss();

  [[nodiscard]] const cluster::RouteTargets& targets() const {
    return state_.cluster->routes[route_.index];
  }
  [[nodiscard]] const Provider& provider(const Try& now) const {
    return state_.providers[targets().targets[now.target].provider];
  }

  LoopState& loop_;
  http::ServerConnection& client_;
  const GatewayState& state_;
  const Route& route_;
  ParsedRequest& request_;
  RequestFacts& facts_;

  Interrupt interrupt_;
  http::Deadline patience_;    // with a silent replica
  http::Deadline loss_check_;  // whether it still lives
  absl::InlinedVector<std::size_t, 4> tried_;
  std::vector<TokenId> token_ids_;  // of the header; empty = none
  std::string spliced_model_;
  std::vector<balance::Shadow::Ride> shadows_;  // of the route; empty until a target is chosen
  TimePoint last_byte_;
  TimePoint answer_due_ = TimePoint::max();        // its first byte; see watch_patience()
  const cluster::Replica* waiting_for_ = nullptr;  // set before loss_check_ is armed
  Heartbeat* heartbeat_ = nullptr;                 // none: nothing is sent before the answer
  bool streamed_ = false;
  bool has_prompt_ = false;  // known before it waits: view() would parse the body again
  bool asks_usage_ = false;  // the route does, and the client does not
  bool committed_ = false;
  bool fresh_only_ = false;               // no pooled connection any more
  std::optional<TimePoint> waits_until_;  // in the queue, however often it gets there
  std::optional<std::size_t> holder_;     // a target; see goes_to()
  bool holder_is_only_ = false;
  bool may_cool_ = true;  // one request cools at most one target
  bool route_is_out_ = false;
};

}  // namespace rolter::proxy
