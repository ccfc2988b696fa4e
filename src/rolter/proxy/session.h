#pragma once

#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "rolter/http/server_connection.h"
#include "rolter/proxy/client_answer.h"
#include "rolter/proxy/forwarding.h"
#include "rolter/proxy/heartbeat.h"
#include "rolter/proxy/loop_state.h"
#include "rolter/proxy/own_error.h"
#include "rolter/proxy/request_facts.h"

namespace rolter::proxy {

struct LocalRequest {
  std::string_view method;
  std::string_view path;
  const http::Fields& fields;
  WallTime now;
};

/// Makes a body on another thread than the one that calls, and hands it over there.
using MakeBody = std::function<void(std::function<void(std::string)> done)>;

struct LocalAnswer {
  OwnAnswer answer;
  MakeBody make_body{};  // for a body that takes longer than a loop may stand still
};

/// Answers what is asked of the gateway itself on the API port; see local_answers.h.
class LocalEndpoints {
 public:
  virtual ~LocalEndpoints() = default;
  /// nullopt: the path is none of its own.
  [[nodiscard]] virtual std::optional<std::expected<LocalAnswer, OwnError>> answer(
      const GatewayState& state, const LocalRequest& request) = 0;
};

/// One client connection, from its first request to its last. One coroutine on one loop.
class Session {
 public:
  Session(LoopState& loop, LocalEndpoints& local, http::Socket socket);

  [[nodiscard]] http::Task<> run();

  /// While draining: an idle connection is closed at once, a busy one after its answer. One that
  /// has not asked anything yet may still do so, for a moment.
  void leave();
  void abort() { client_.abort(); }

 private:
  [[nodiscard]] http::Task<Ending> serve(std::shared_ptr<const GatewayState> state);
  [[nodiscard]] http::Task<std::expected<Ending, OwnError>> dispatch(const GatewayState& state);
  [[nodiscard]] http::Task<std::expected<Ending, OwnError>> serve_locally(
      const GatewayState& state);
  [[nodiscard]] http::Task<std::expected<Ending, OwnError>> forward(const GatewayState& state,
                                                                    openai::Endpoint endpoint);
  [[nodiscard]] http::Task<std::expected<Ending, OwnError>> forward_by(const GatewayState& state,
                                                                       const Route& first,
                                                                       ParsedRequest& request);
  [[nodiscard]] Result<admission::Caller> identify(const GatewayState& state);
  [[nodiscard]] http::Task<OwnError> refuse_stranger(const Error& why);
  [[nodiscard]] http::Task<std::expected<Ending, OwnError>> forward_to_holder(
      const GatewayState& state, std::string_view answer_id);
  void prefer_holder(Forwarding& forwarding, const GatewayState& state, const Route& route,
                     std::string_view answer_id) const;
  [[nodiscard]] std::unique_ptr<Heartbeat> make_heartbeat(const GatewayState& state,
                                                          ParsedRequest& request);
  [[nodiscard]] http::Task<Ending> tell_in_stream(Heartbeat& heartbeat, const OwnError& error,
                                                  openai::Endpoint endpoint);
  void note(const OwnError& error);
  void settle(admission::Admission& admission);
  [[nodiscard]] std::expected<admission::Admission, OwnError> admit(
      const admission::Caller& caller, const Route& route, const openai::RequestView& view);
  [[nodiscard]] http::Task<std::expected<Ending, OwnError>> answer_locally(OwnAnswer answer);
  [[nodiscard]] http::Task<std::string> made_elsewhere(MakeBody make);
  [[nodiscard]] http::Task<Ending> refuse(OwnError error);
  [[nodiscard]] http::Task<> refuse_head(const Error& error);
  void begin_facts();

  LoopState& loop_;
  LocalEndpoints& local_;
  std::string client_address_;
  http::ServerConnection client_;
  RequestFacts facts_;
  http::Deadline last_wait_;  // while leaving
  bool leaving_ = false;
  bool has_served_ = false;
};

}  // namespace rolter::proxy
