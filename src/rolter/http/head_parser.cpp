#include "rolter/http/head_parser.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <limits>
#include <optional>
#include <string>

#include "rolter/base/ascii.h"

namespace rolter::http {
namespace {

namespace beast_http = boost::beast::http;
using BeastError = boost::beast::error_code;
using BeastView = boost::beast::string_view;

std::string_view view(BeastView text) {
  return {text.data(), text.size()};
}

/// Beast's parser without Beast's containers: fields go into our flat list as views.
template <bool kIsRequest, typename Head>
class FlatParser final : public beast_http::basic_parser<kIsRequest> {
 public:
  FlatParser(Head& head, const HeadLimits& limits) : head_(head), limits_(limits) {
    this->header_limit(std::numeric_limits<std::uint32_t>::max());
    this->body_limit(boost::none);
  }

  [[nodiscard]] bool too_many_fields() const { return too_many_fields_; }
  [[nodiscard]] std::size_t transfer_encodings() const { return transfer_encodings_; }

 private:
  void on_request_impl(beast_http::verb /*verb*/, BeastView method, BeastView target, int version,
                       BeastError& /*ec*/) override {
    if constexpr (kIsRequest) {
      head_.minor_version = version % 10;
      head_.method = view(method);
      head_.target = view(target);
    }
  }
  void on_response_impl(int code, BeastView reason, int version, BeastError& /*ec*/) override {
    if constexpr (!kIsRequest) {
      head_.minor_version = version % 10;
      head_.status = code;
      head_.reason = view(reason);
    }
  }
  void on_field_impl(beast_http::field field, BeastView name, BeastView value,
                     BeastError& ec) override {
    if (head_.fields.size() >= limits_.max_fields) {
      too_many_fields_ = true;
      ec = beast_http::error::header_limit;
      return;
    }
    if (field == beast_http::field::transfer_encoding) {
      ++transfer_encodings_;
    }
    head_.fields.add(view(name), view(value));
  }
  void on_header_impl(BeastError& /*ec*/) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>& /*length*/,
                         BeastError& /*ec*/) override {}
  std::size_t on_body_impl(BeastView /*body*/, BeastError& /*ec*/) override { return 0; }
  void on_chunk_header_impl(std::uint64_t /*size*/, BeastView /*extensions*/,
                            BeastError& /*ec*/) override {}
  std::size_t on_chunk_body_impl(std::uint64_t /*remain*/, BeastView /*body*/,
                                 BeastError& /*ec*/) override {
    return 0;
  }
  void on_finish_impl(BeastError& /*ec*/) override {}

  Head& head_;
  const HeadLimits& limits_;
  bool too_many_fields_ = false;
  std::size_t transfer_encodings_ = 0;
};

/// Offset of the first folded line's CRLF, if any.
std::optional<std::size_t> find_fold(std::string_view bytes, std::size_t from) {
  for (std::size_t at = bytes.find("\r\n", from); at != std::string_view::npos;
       at = bytes.find("\r\n", at + 2)) {
    if (at + 2 < bytes.size() && (bytes[at + 2] == ' ' || bytes[at + 2] == '\t')) {
      return at;
    }
  }
  return std::nullopt;
}

template <typename Parser>
Result<void> run(Parser& parser, std::span<const char> bytes) {
  BeastError ec;
  parser.put(boost::asio::const_buffer(bytes.data(), bytes.size()), ec);
  if (parser.too_many_fields()) {
    return fail(ErrorKind::kLimitExceeded, "too many header fields");
  }
  // need_more: the head is whole, the body is ours to read.
  if (ec && ec != beast_http::error::need_more) {
    return fail(ErrorKind::kProtocol, "malformed HTTP head: " + ec.message());
  }
  if (!parser.is_header_done()) {
    return fail(ErrorKind::kProtocol, "malformed HTTP head");
  }
  return {};
}

/// Exactly one Transfer-Encoding field that says "chunked" and nothing else: any other spelling is
/// one that two readers may understand differently (request smuggling).
Result<void> check_transfer_encoding(std::size_t count, const Fields& fields, int minor_version) {
  if (count == 0) {
    return {};
  }
  if (count > 1 || !iequals(fields.get("transfer-encoding"), "chunked") || minor_version == 0) {
    return fail(ErrorKind::kProtocol,
                "unsupported Transfer-Encoding; send \"chunked\" or a length");
  }
  return {};
}

/// A target is visible ASCII; anything else must be percent-encoded (RFC 9112, section 3.2).
bool has_unencoded(std::string_view target) {
  return std::ranges::any_of(target, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte <= 0x20 || byte >= 0x7f;
  });
}

/// The size of the head without its token-ids lines.
std::size_t counted_bytes(std::size_t head_bytes, const Fields& fields) {
  std::size_t counted = head_bytes;
  for (const Field& field : fields) {
    if (iequals(field.name, kTokenIdsField)) {
      counted -= std::min(counted, field.value.size());
    }
  }
  return counted;
}

bool mentions_token_ids(std::string_view input) {
  const auto found =
      std::search(input.begin(), input.end(), kTokenIdsField.begin(), kTokenIdsField.end(),
                  [](char a, char b) { return to_lower(a) == b; });
  return found != input.end();
}

}  // namespace

Result<std::size_t> HeadFinder::find(std::string_view input, const HeadLimits& limits) {
  const std::size_t from = scanned_ > 3 ? scanned_ - 3 : 0;
  const std::size_t end = input.find("\r\n\r\n", from);
  scanned_ = input.size();
  if (end != std::string_view::npos) {
    return end + 4;
  }
  if (input.size() > limits.max_bytes &&
      (input.size() > limits.max_bytes + limits.max_token_ids_bytes ||
       !mentions_token_ids(input.substr(0, limits.max_bytes)))) {
    return fail(ErrorKind::kLimitExceeded, "the request head is larger than max_head_bytes");
  }
  return std::size_t{0};
}

Result<void> parse_request_head(std::span<char> bytes, const HeadLimits& limits,
                                RequestHead& head) {
  head.fields.clear();
  if (find_fold({bytes.data(), bytes.size()}, 0)) {
    return fail(ErrorKind::kProtocol, "folded header lines are not accepted");
  }
  FlatParser<true, RequestHead> parser(head, limits);
  if (auto parsed = run(parser, bytes); !parsed) {
    return parsed;
  }
  const Fields& fields = head.fields;
  if (auto checked =
          check_transfer_encoding(parser.transfer_encodings(), fields, head.minor_version);
      !checked) {
    return checked;
  }
  const std::size_t hosts = fields.count("host");
  if (hosts > 1 || (hosts == 0 && head.minor_version >= 1)) {
    return fail(ErrorKind::kProtocol, "an HTTP/1.1 request needs exactly one Host field");
  }
  if (fields.count("content-length") > 1) {
    return fail(ErrorKind::kProtocol, "repeated Content-Length");
  }
  if (has_unencoded(head.target)) {
    return fail(ErrorKind::kProtocol,
                "the request target has characters that must be percent-encoded");
  }
  if (counted_bytes(bytes.size(), fields) > limits.max_bytes) {
    return fail(ErrorKind::kLimitExceeded, "the request head is larger than max_head_bytes");
  }
  head.keep_alive = parser.keep_alive();
  head.expects_continue = head.minor_version >= 1 && iequals(fields.get("expect"), "100-continue");
  head.content_length = parser.content_length().value_or(0);
  head.framing = parser.chunked()          ? Framing::kChunked
                 : head.content_length > 0 ? Framing::kLength
                                           : Framing::kNone;
  return {};
}

Result<void> parse_response_head(std::span<char> bytes, const HeadLimits& limits,
                                 bool to_head_request, ResponseHead& head) {
  head.fields.clear();
  std::optional<std::size_t> fold = find_fold({bytes.data(), bytes.size()}, 0);
  while (fold) {
    bytes[*fold] = ' ';
    bytes[*fold + 1] = ' ';
    fold = find_fold({bytes.data(), bytes.size()}, *fold + 2);
  }
  FlatParser<false, ResponseHead> parser(head, limits);
  if (auto parsed = run(parser, bytes); !parsed) {
    return parsed;
  }
  if (auto checked =
          check_transfer_encoding(parser.transfer_encodings(), head.fields, head.minor_version);
      !checked) {
    return checked;
  }
  head.content_length = parser.content_length().value_or(0);
  const bool bodiless =
      to_head_request || head.status < 200 || head.status == 204 || head.status == 304;
  head.framing = bodiless                  ? Framing::kNone
                 : parser.chunked()        ? Framing::kChunked
                 : parser.content_length() ? Framing::kLength
                                           : Framing::kUntilClose;
  // Not parser.keep_alive(): it also wants a known length, which a bodiless answer does not need.
  const bool says_close = head.fields.lists("connection", "close");
  head.keep_alive = head.framing != Framing::kUntilClose && !says_close &&
                    (head.minor_version >= 1 || head.fields.lists("connection", "keep-alive"));
  return {};
}

}  // namespace rolter::http
