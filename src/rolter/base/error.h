#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace rolter {

/// What went wrong, as far as anyone has to act differently on it.
enum class ErrorKind : std::uint8_t {
  kInvalidInput,      // bytes that cannot be what they claim to be
  kLimitExceeded,     // a configured bound was passed
  kNotFound,          // no such model, target, file
  kDenied,            // egress policy, or a key without the permission
  kUnauthenticated,   // no valid key
  kConnectRefused,    // nobody listens there
  kConnectFailed,     // unreachable, or timed out while connecting
  kConnectionClosed,  // orderly end where more was expected
  kConnectionReset,   // reset or broken pipe
  kTimeout,           // a deadline passed
  kProtocol,          // the peer broke HTTP
  kCancelled,         // we stopped it ourselves
  kUnavailable,       // nothing can serve this now
  kInternal,          // a bug of ours
};

/// Whose fault it is: decides what counts against a target and what the log says.
enum class ErrorSource : std::uint8_t { kClient, kUpstream, kGateway };

/// Whether the same request may be tried on another target.
enum class Retry : std::uint8_t { kNo, kElsewhere, kFreshConnection };

/// An expected failure: one value answers "what, whose fault, may I retry, what do I log".
struct Error {
  ErrorKind kind = ErrorKind::kInternal;
  ErrorSource source = ErrorSource::kGateway;
  Retry retry = Retry::kNo;
  std::string message;       // for people; never holds a secret
  std::string_view field{};  // of the request, when one is at fault; a literal
};

/// Expected failures are values; exceptions only stop start-up or report bugs.
template <typename T>
using Result = std::expected<T, Error>;

[[nodiscard]] inline std::unexpected<Error> fail(ErrorKind kind, std::string message,
                                                 ErrorSource source = ErrorSource::kGateway,
                                                 Retry retry = Retry::kNo) {
  return std::unexpected(Error{kind, source, retry, std::move(message)});
}

/// Stable lower-case words for logs and metric labels.
[[nodiscard]] std::string_view to_string(ErrorKind kind);
[[nodiscard]] std::string_view to_string(ErrorSource source);

}  // namespace rolter
