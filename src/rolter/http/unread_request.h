#pragma once

#include "rolter/base/error.h"

namespace rolter::http {

/// The status (RFC 9110) for a request whose head or body could not be read, where no finer one is
/// told apart.
[[nodiscard]] inline int status_of_unread(const Error& error) {
  switch (error.kind) {
    case ErrorKind::kTimeout:
      return 408;
    case ErrorKind::kLimitExceeded:
      return 413;
    default:
      return 400;
  }
}

}  // namespace rolter::http
