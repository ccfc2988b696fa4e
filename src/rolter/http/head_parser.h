#pragma once

#include <cstddef>
#include <span>

#include "rolter/base/error.h"
#include "rolter/http/head.h"

namespace rolter::http {

struct HeadLimits {
  std::size_t max_bytes = 65'536;
  std::size_t max_fields = 128;
  // The one field that may be long, counted apart from the others.
  std::size_t max_token_ids_bytes = 8'388'608;
};

/// Carries the token ids of a prompt; see HeadLimits.
inline constexpr std::string_view kTokenIdsField = "x-rolter-vllm-token-ids";

/// Finds the end of a head that arrives piecemeal, looking at each byte once.
class HeadFinder {
 public:
  /// The length of the head including its empty line, 0 while that has not come. kLimitExceeded
  /// when no head within the limits can come of it any more.
  [[nodiscard]] Result<std::size_t> find(std::string_view input, const HeadLimits& limits);
  void reset() { scanned_ = 0; }

 private:
  std::size_t scanned_ = 0;
};

/// Parses a whole head, as HeadFinder delimited it, as strictly as RFC 9112 allows. Views in `head`
/// point into `bytes`. Refused although the RFC leaves a choice: line folding, bare LF, more fields
/// than allowed, a repeated length, a length beside a transfer coding, and a coding other than
/// exactly one "chunked". Errors are kProtocol (400) or kLimitExceeded (431).
[[nodiscard]] Result<void> parse_request_head(std::span<char> bytes, const HeadLimits& limits,
                                              RequestHead& head);

/// As above for a replica's answer. Folded lines are unfolded in place (RFC 9112, section 5.2).
/// `to_head_request`: the answer has no body whatever its fields say.
[[nodiscard]] Result<void> parse_response_head(std::span<char> bytes, const HeadLimits& limits,
                                               bool to_head_request, ResponseHead& head);

}  // namespace rolter::http
