#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "rolter/admission/key_usage.h"
#include "rolter/base/error.h"
#include "rolter/cluster/outcome.h"
#include "rolter/openai/request_view.h"

namespace rolter::proxy {

/// An error that the gateway itself answers: what the client reads, and what to do about it.
struct OwnError {
  int status = 500;
  std::string_view type = "server_error";
  std::string_view code = "internal_error";
  std::string_view param{};
  std::string message;
  std::optional<std::chrono::seconds> retry_after{};
  bool closes_connection = false;
};

/// A head that could not be read: 400, 408, 431 or 503. The connection is of no more use.
[[nodiscard]] OwnError head_error(const Error& error);

/// A body that could not be read: 400, 408, 413 or 503.
[[nodiscard]] OwnError body_error(const Error& error);

/// A body that does not say what is wanted: 400.
[[nodiscard]] OwnError invalid_request(const Error& error);

[[nodiscard]] OwnError unknown_path(std::string_view path);
[[nodiscard]] OwnError method_not_allowed(std::string_view allowed);
[[nodiscard]] OwnError unknown_model(std::string_view model);
/// No replica is known to hold an answer of that id.
[[nodiscard]] OwnError unknown_answer(std::string_view id);
[[nodiscard]] OwnError access_error(const Error& error);

/// A limit of the virtual key.
[[nodiscard]] OwnError over_limit(const admission::Refused& refused);

/// The route has targets, and an operator has drained them all.
[[nodiscard]] OwnError all_drained(std::string_view model);
/// Every target is at its max_in_flight, and the route's queue is full.
[[nodiscard]] OwnError queue_full(std::string_view model);
/// It has waited there for [queue] timeout_secs.
[[nodiscard]] OwnError queue_timed_out(std::string_view model);
/// No replica is up, or all have refused; shown when there is no fallback, or it is out as well.
[[nodiscard]] OwnError route_out(std::string_view model);
/// A replica's answer that cannot be passed on as it is, since a stream has begun: `body` is what
/// is known of it.
[[nodiscard]] OwnError late_answer(int status, std::string_view body);
/// The last attempt ended so, and there will be no other.
[[nodiscard]] OwnError no_answer(cluster::Outcome outcome);

/// The body under which a client is told.
[[nodiscard]] std::string own_error_body(const OwnError& error, openai::ApiShape shape,
                                         std::string_view request_id);

}  // namespace rolter::proxy
