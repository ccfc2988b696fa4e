#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "rolter/base/error.h"
#include "rolter/http/address_book.h"
#include "rolter/http/asio.h"
#include "rolter/http/deadline_wheel.h"
#include "rolter/http/loop.h"
#include "rolter/http/upstream_pool.h"

namespace rolter::feeds {

/// Where to ask: a host as it is resolved now, what may be dialled of it, and the fields every
/// request to it carries.
struct HttpSource {
  std::shared_ptr<http::AddressCell> addresses;
  http::EgressCheck egress;
  std::string fields;   // "Host: ...\r\n", the provider's key and headers, each line ended
  http::TlsPeer tls{};  // without a context: plain
};

/// The head of a GET for `path`, on a connection that is not kept.
[[nodiscard]] std::string render_get(const HttpSource& source, std::string_view path);

/// A POST of JSON likewise, whole: HttpGet sends it as it is.
[[nodiscard]] std::string render_post(const HttpSource& source, std::string_view path,
                                      std::string_view json);

struct GetAnswer {
  int status = 0;
  std::string body;
};

struct GetLimits {
  Duration timeout{};  // from the dial to the last byte; 0 = none
  std::size_t max_body_bytes = 0;
};

/// One GET, or one POST, on a connection of its own, so that an answer means that somebody listens
/// now. Redirects are not followed: the status says 3xx. One run at a time, on one loop.
class HttpGet {
 public:
  explicit HttpGet(http::Loop& loop);

  /// Errors: those of the dial, kTimeout, kLimitExceeded, kCancelled after abort(), or what is
  /// wrong with the answer.
  [[nodiscard]] http::Task<Result<GetAnswer>> run(HttpSource source, std::string head,
                                                  GetLimits limits);

  /// Ends the run under way, and every later one.
  void abort();

 private:
  [[nodiscard]] http::Task<Result<GetAnswer>> exchange(std::string head, std::size_t max_bytes);
  void end_now();

  http::Loop& loop_;
  std::unique_ptr<http::Dialer> dialer_;
  std::unique_ptr<http::UpstreamConnection> connection_;
  http::Deadline deadline_;
  bool timed_out_ = false;
  bool aborted_ = false;
};

}  // namespace rolter::feeds
