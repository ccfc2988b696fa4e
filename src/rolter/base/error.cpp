#include "rolter/base/error.h"

namespace rolter {

std::string_view to_string(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalidInput:
      return "invalid_input";
    case ErrorKind::kLimitExceeded:
      return "limit_exceeded";
    case ErrorKind::kNotFound:
      return "not_found";
    case ErrorKind::kDenied:
      return "denied";
    case ErrorKind::kUnauthenticated:
      return "unauthenticated";
    case ErrorKind::kConnectRefused:
      return "connect_refused";
    case ErrorKind::kConnectFailed:
      return "connect_failed";
    case ErrorKind::kConnectionClosed:
      return "connection_closed";
    case ErrorKind::kConnectionReset:
      return "connection_reset";
    case ErrorKind::kTimeout:
      return "timeout";
    case ErrorKind::kProtocol:
      return "protocol";
    case ErrorKind::kCancelled:
      return "cancelled";
    case ErrorKind::kUnavailable:
      return "unavailable";
    case ErrorKind::kInternal:
      return "internal";
  }
  return "internal";
}

std::string_view to_string(ErrorSource source) {
  switch (source) {
    case ErrorSource::kClient:
      return "client";
    case ErrorSource::kUpstream:
      return "upstream";
    case ErrorSource::kGateway:
      return "gateway";
  }
  return "gateway";
}

}  // namespace rolter
