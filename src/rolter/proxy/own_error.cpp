#include "rolter/proxy/own_error.h"

#include <fmt/format.h>

#include "rolter/openai/error_body.h"

namespace rolter::proxy {
namespace {

constexpr std::string_view kInvalidRequest = "invalid_request_error";
constexpr std::string_view kUnavailable = "service_unavailable_error";
constexpr std::size_t kMaxQuotedBytes = 128;

std::string quoted(std::string_view text) {
  return text.size() <= kMaxQuotedBytes ? fmt::format("\"{}\"", text)
                                        : fmt::format("\"{}...\"", text.substr(0, kMaxQuotedBytes));
}

OwnError unreadable(const Error& error, int too_large) {
  if (error.kind == ErrorKind::kUnavailable) {
    return {.status = 503,
            .type = kUnavailable,
            .code = "buffers_full",
            .message = error.message,
            .retry_after = std::chrono::seconds(1),
            .closes_connection = true};
  }
  const int status = error.kind == ErrorKind::kTimeout         ? 408
                     : error.kind == ErrorKind::kLimitExceeded ? too_large
                                                               : 400;
  const std::string_view code = status == 408   ? "request_timeout"
                                : status == 400 ? "malformed_request"
                                                : "request_too_large";
  return {.status = status,
          .type = kInvalidRequest,
          .code = code,
          .message = error.message,
          .closes_connection = true};
}

}  // namespace

OwnError head_error(const Error& error) {
  return unreadable(error, 431);
}

OwnError body_error(const Error& error) {
  return unreadable(error, 413);
}

OwnError invalid_request(const Error& error) {
  return {.status = 400,
          .type = kInvalidRequest,
          .code = "invalid_request",
          .param = error.field,
          .message = error.message};
}

OwnError unknown_path(std::string_view path) {
  return {.status = 404,
          .type = kInvalidRequest,
          .code = "not_found",
          .message =
              fmt::format("no such endpoint: {}; see /v1/models for what is served", quoted(path))};
}

OwnError method_not_allowed(std::string_view allowed) {
  return {.status = 405,
          .type = kInvalidRequest,
          .code = "method_not_allowed",
          .message = fmt::format("this endpoint takes {}", allowed)};
}

OwnError unknown_model(std::string_view model) {
  return {.status = 404,
          .type = kInvalidRequest,
          .code = "model_not_found",
          .param = "model",
          .message = fmt::format("the model {} is not served here; GET /v1/models lists what is",
                                 quoted(model))};
}

OwnError unknown_answer(std::string_view id) {
  return {.status = 404,
          .type = kInvalidRequest,
          .code = "response_not_found",
          .param = "response_id",
          .message = fmt::format("no replica is known to hold the response {}", quoted(id))};
}

OwnError access_error(const Error& error) {
  if (error.kind == ErrorKind::kDenied) {
    return {.status = 403,
            .type = "permission_error",
            .code = "model_not_allowed",
            .param = "model",
            .message = error.message};
  }
  return {.status = 401,
          .type = "authentication_error",
          .code = "invalid_api_key",
          .message = error.message};
}

OwnError over_limit(const admission::Refused& refused) {
  OwnError error{.status = 429,
                 .type = "rate_limit_error",
                 .code = "rate_limit_exceeded",
                 .message = admission::describe(refused)};
  if (refused.retry_after) {
    error.retry_after = std::chrono::ceil<std::chrono::seconds>(*refused.retry_after);
  }
  return error;
}

OwnError all_drained(std::string_view model) {
  return {.status = 503,
          .type = kUnavailable,
          .code = "all_targets_drained",
          .message = fmt::format("every replica of {} is drained for maintenance; try again later",
                                 quoted(model)),
          .retry_after = std::chrono::seconds(30)};
}

OwnError queue_full(std::string_view model) {
  return {
      .status = 429,
      .type = "rate_limit_error",
      .code = "queue_full",
      .message = fmt::format("every replica of {} is at its limit and no more requests may wait "
                             "for one; try again shortly",
                             quoted(model)),
      .retry_after = std::chrono::seconds(1)};
}

OwnError queue_timed_out(std::string_view model) {
  return {
      .status = 429,
      .type = "rate_limit_error",
      .code = "queue_timeout",
      .message = fmt::format("every replica of {} stayed at its limit while the request waited; "
                             "try again shortly",
                             quoted(model)),
      .retry_after = std::chrono::seconds(1)};
}

OwnError route_out(std::string_view model) {
  return {.status = 503,
          .type = kUnavailable,
          .code = "no_replica_up",
          .message = fmt::format("no replica of {} is up; try again shortly", quoted(model)),
          .retry_after = std::chrono::seconds(1)};
}

OwnError late_answer(int status, std::string_view body) {
  constexpr std::size_t kMostQuoted = 1'000;
  if (status < 400) {
    return {.status = 502,
            .type = "upstream_error",
            .code = "upstream_failed",
            .message = "the replica did not answer with an event stream"};
  }
  return {.status = status,
          .type = "upstream_error",
          .code = "upstream_failed",
          .message = fmt::format("the replica answered {}{}{}", status, body.empty() ? "" : ": ",
                                 body.substr(0, kMostQuoted))};
}

std::string own_error_body(const OwnError& error, openai::ApiShape shape,
                           std::string_view request_id) {
  return openai::error_body(shape,
                            {.status = error.status,
                             .type = error.type,
                             .code = error.code,
                             .param = error.param,
                             .message = error.message},
                            request_id);
}

OwnError no_answer(cluster::Outcome outcome) {
  using cluster::Outcome;
  switch (outcome) {
    case Outcome::kConnectRefused:
    case Outcome::kConnectFailed:
      return {.status = 503,
              .type = kUnavailable,
              .code = "no_replica_reachable",
              .message = "no replica could be connected to; try again shortly",
              .retry_after = std::chrono::seconds(1)};
    case Outcome::kTimeout:
      return {.status = 504,
              .type = "timeout_error",
              .code = "upstream_timeout",
              .message = "the replica did not begin to answer in time"};
    case Outcome::kKeyRejected:
      return {.status = 502,
              .type = "upstream_error",
              .code = "upstream_key_rejected",
              .message =
                  "the replica does not accept the gateway's key; "
                  "its operator must mend api_key of the provider"};
    case Outcome::kAbortedEmpty:
      return {.status = 503,
              .type = kUnavailable,
              .code = "replica_draining",
              .message = "the replica is shutting down and no other could answer; try again",
              .retry_after = std::chrono::seconds(1)};
    default:
      return {.status = 502,
              .type = "upstream_error",
              .code = "upstream_failed",
              .message = "the replica closed the connection or gave an unusable answer"};
  }
}

}  // namespace rolter::proxy
