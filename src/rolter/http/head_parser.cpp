#include "rolter/http/head_parser.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>

#include "rolter/base/ascii.h"

namespace rolter::http {
namespace {

using ByteSet = std::array<bool, 256>;

template <typename Belongs>
consteval ByteSet bytes_that(Belongs belongs) {
  ByteSet set{};
  for (int byte = 0; byte < 256; ++byte) {
    set[static_cast<std::size_t>(byte)] = belongs(byte);
  }
  return set;
}

/// Of a method or field name (RFC 9110, section 5.6.2).
constexpr ByteSet kToken = bytes_that([](int byte) {
  const bool letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
  const bool digit = byte >= '0' && byte <= '9';
  return letter || digit ||
         (byte < 128 && std::string_view("!#$%&'*+-.^_`|~").contains(static_cast<char>(byte)));
});

/// Of a field's value or a reason: no control character but the tab (RFC 9110, section 5.5).
constexpr ByteSet kText =
    bytes_that([](int byte) { return byte == '\t' || (byte >= 0x20 && byte != 0x7f); });

/// A target is visible ASCII; anything else must be percent-encoded (RFC 9112, section 3.2).
constexpr ByteSet kTarget = bytes_that([](int byte) { return byte > 0x20 && byte < 0x7f; });

/// The first byte that is not in the set. There is one: a head ends with CRLF, which is in none.
const char* pass(const char* at, const ByteSet& set) {
  while (set[static_cast<unsigned char>(*at)]) {
    ++at;
  }
  return at;
}

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

bool is_line_end(const char* at) {
  return at[0] == '\r' && at[1] == '\n';
}

std::unexpected<Error> malformed(std::string_view what) {
  return fail(ErrorKind::kProtocol, "malformed HTTP head: " + std::string(what));
}

bool is_delimited(std::span<const char> bytes) {
  return std::string_view(bytes.data(), bytes.size()).ends_with("\r\n\r\n");
}

enum class Folds : std::uint8_t { kRefused, kUnfolded };

/// The end of a value that begins at `at`: its CRLF. Folded lines become part of it, in place.
Result<char*> find_value_end(char* at, Folds folds) {
  while (true) {
    at += pass(at, kText) - at;
    if (!is_line_end(at)) {
      return malformed("a field's value has a control character");
    }
    if (!is_blank(at[2])) {
      return at;
    }
    if (folds == Folds::kRefused) {
      return fail(ErrorKind::kProtocol, "folded header lines are not accepted");
    }
    at[0] = at[1] = ' ';
  }
}

/// Reads field lines up to the empty one.
Result<void> read_fields(char* at, const HeadLimits& limits, Folds folds, Fields& fields) {
  while (!is_line_end(at)) {
    const char* const name = at;
    at += pass(at, kToken) - at;
    if (at == name || *at != ':') {
      return malformed("a field's name is not a token followed by a colon");
    }
    const std::string_view name_text(name, at);
    do {
      ++at;
    } while (is_blank(*at));
    const auto end = find_value_end(at, folds);
    if (!end) {
      return std::unexpected(end.error());
    }
    if (fields.size() >= limits.max_fields) {
      return fail(ErrorKind::kLimitExceeded, "too many header fields");
    }
    fields.add(name_text, trim_blanks({at, *end}));
    at = *end + 2;
  }
  return {};
}

/// 0 or 1 when `at` says HTTP/1.0 or HTTP/1.1, which are eight bytes.
std::optional<int> minor_version_at(const char* at) {
  constexpr std::string_view kVersion = "HTTP/1.";
  if (std::strncmp(at, kVersion.data(), kVersion.size()) != 0 || (at[7] != '0' && at[7] != '1')) {
    return std::nullopt;
  }
  return at[7] - '0';
}

/// The fields that say how to read the message, found in one pass.
struct Noticed {
  int hosts = 0;
  int lengths = 0;
  int codings = 0;
  bool has_connection = false;  // or Proxy-Connection
  bool expects_continue = false;
  std::string_view length;
  std::string_view coding;
  std::size_t token_ids_bytes = 0;
};

Noticed notice(const Fields& fields) {
  Noticed noticed;
  for (const auto& [name, value] : fields) {
    switch (name.size()) {
      case std::string_view("host").size():
        noticed.hosts += iequals(name, "host");
        break;
      case std::string_view("expect").size():
        noticed.expects_continue =
            noticed.expects_continue || (iequals(name, "expect") && iequals(value, "100-continue"));
        break;
      case std::string_view("connection").size():
        noticed.has_connection = noticed.has_connection || iequals(name, "connection");
        break;
      case std::string_view("proxy-connection").size():
        noticed.has_connection = noticed.has_connection || iequals(name, "proxy-connection");
        break;
      case std::string_view("content-length").size():
        if (iequals(name, "content-length")) {
          ++noticed.lengths;
          noticed.length = value;
        }
        break;
      case std::string_view("transfer-encoding").size():
        if (iequals(name, "transfer-encoding")) {
          ++noticed.codings;
          noticed.coding = value;
        }
        break;
      case kTokenIdsField.size():
        noticed.token_ids_bytes += iequals(name, kTokenIdsField) ? value.size() : 0;
        break;
      default:
        break;
    }
  }
  return noticed;
}

/// The one Content-Length, if there is one. Repeated ones and lists are refused even when they
/// agree: two readers need not (RFC 9112, section 6.3, allows either).
Result<std::optional<std::uint64_t>> read_content_length(const Noticed& noticed) {
  if (noticed.lengths == 0) {
    return std::optional<std::uint64_t>{};
  }
  if (noticed.lengths > 1) {
    return fail(ErrorKind::kProtocol, "repeated Content-Length");
  }
  const std::string_view digits = noticed.length;
  std::uint64_t length = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), length);
  if (error != std::errc{} || end != digits.data() + digits.size()) {
    return malformed("Content-Length is not a number of bytes");
  }
  return std::optional(length);
}

struct BodyFraming {
  bool chunked = false;
  std::optional<std::uint64_t> length;
};

/// Exactly one Transfer-Encoding field that says "chunked" and nothing else, and no length beside
/// it: any other spelling is one that two readers may understand differently (request smuggling).
Result<BodyFraming> read_framing(const Noticed& noticed, int minor_version) {
  BodyFraming framing;
  const auto length = read_content_length(noticed);
  if (!length) {
    return std::unexpected(length.error());
  }
  framing.length = *length;
  framing.chunked = noticed.codings > 0;
  if (noticed.codings > 1 ||
      (framing.chunked && (!iequals(noticed.coding, "chunked") || minor_version == 0))) {
    return fail(ErrorKind::kProtocol,
                "unsupported Transfer-Encoding; send \"chunked\" or a length");
  }
  if (framing.chunked && framing.length) {
    return fail(ErrorKind::kProtocol, "both Content-Length and Transfer-Encoding");
  }
  return framing;
}

/// What Connection names must be tokens (RFC 9110, section 7.6.1): of anything else two readers may
/// think differently whether the connection stays, and which fields do not pass on.
bool has_clear_connection(const Fields& fields) {
  const auto is_clear = [](std::string_view options) {
    while (!options.empty()) {
      const std::size_t comma = options.find(',');
      if (!std::ranges::all_of(trim_blanks(options.substr(0, comma)),
                               [](char c) { return kToken[static_cast<unsigned char>(c)]; })) {
        return false;
      }
      options.remove_prefix(comma == std::string_view::npos ? options.size() : comma + 1);
    }
    return true;
  };
  return std::ranges::all_of(fields, [&is_clear](const Field& field) {
    const bool counts =
        iequals(field.name, "connection") || iequals(field.name, "proxy-connection");
    return !counts || is_clear(field.value);
  });
}

bool keeps_alive(const Noticed& noticed, const Fields& fields, int minor_version) {
  if (!noticed.has_connection) {
    return minor_version >= 1;
  }
  return !fields.lists("connection", "close") &&
         (minor_version >= 1 || fields.lists("connection", "keep-alive"));
}

bool mentions_token_ids(std::string_view input) {
  const auto found =
      std::search(input.begin(), input.end(), kTokenIdsField.begin(), kTokenIdsField.end(),
                  [](char a, char b) { return to_lower(a) == b; });
  return found != input.end();
}

/// Reads "METHOD target HTTP/1.1" and returns where the field lines begin.
Result<char*> read_request_line(char* at, RequestHead& head) {
  const char* const method_end = pass(at, kToken);
  if (method_end == at || *method_end != ' ') {
    return malformed("it does not begin with a method");
  }
  head.method = {at, method_end};
  const char* const target = method_end + 1;
  const char* const target_end = pass(target, kTarget);
  if (target_end == target || *target_end != ' ') {
    return fail(ErrorKind::kProtocol,
                "the request target has characters that must be percent-encoded");
  }
  head.target = {target, target_end};
  const auto version = minor_version_at(target_end + 1);
  if (!version || !is_line_end(target_end + 9)) {
    return malformed("it is not HTTP/1.0 or HTTP/1.1");
  }
  head.minor_version = *version;
  return at + (target_end + 11 - at);
}

/// Reads "HTTP/1.1 200 OK" and returns where the field lines begin. The reason and the space before
/// it may be missing.
Result<char*> read_status_line(char* at, ResponseHead& head) {
  const auto version = minor_version_at(at);
  if (!version || at[8] != ' ') {
    return malformed("it is not HTTP/1.0 or HTTP/1.1");
  }
  head.minor_version = *version;
  const char* const status = at + 9;
  const auto [end, error] = std::from_chars(status, status + 3, head.status);
  if (error != std::errc{} || end != status + 3 || head.status < 100 ||
      (*end != ' ' && *end != '\r')) {
    return malformed("its status is not a number of three digits");
  }
  const char* const reason = *end == ' ' ? end + 1 : end;
  const char* const line_end = pass(reason, kText);
  if (!is_line_end(line_end)) {
    return malformed("its reason has a control character");
  }
  head.reason = {reason, line_end};
  return at + (line_end + 2 - at);
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
  if (!is_delimited(bytes)) {
    return malformed("it does not end");
  }
  const auto first_field = read_request_line(bytes.data(), head);
  if (!first_field) {
    return std::unexpected(first_field.error());
  }
  Fields& fields = head.fields;
  if (auto read = read_fields(*first_field, limits, Folds::kRefused, fields); !read) {
    return read;
  }
  const Noticed noticed = notice(fields);
  if (noticed.has_connection && !has_clear_connection(fields)) {
    return malformed("Connection is not a list of tokens");
  }
  const auto framing = read_framing(noticed, head.minor_version);
  if (!framing) {
    return std::unexpected(framing.error());
  }
  if (noticed.hosts > 1 || (noticed.hosts == 0 && head.minor_version >= 1)) {
    return fail(ErrorKind::kProtocol, "an HTTP/1.1 request needs exactly one Host field");
  }
  // The head without its token ids, which have a limit of their own.
  if (bytes.size() - noticed.token_ids_bytes > limits.max_bytes) {
    return fail(ErrorKind::kLimitExceeded, "the request head is larger than max_head_bytes");
  }
  head.keep_alive = keeps_alive(noticed, fields, head.minor_version);
  head.expects_continue = head.minor_version >= 1 && noticed.expects_continue;
  head.content_length = framing->length.value_or(0);
  head.framing = framing->chunked          ? Framing::kChunked
                 : head.content_length > 0 ? Framing::kLength
                                           : Framing::kNone;
  return {};
}

Result<void> parse_response_head(std::span<char> bytes, const HeadLimits& limits,
                                 bool to_head_request, ResponseHead& head) {
  head.fields.clear();
  if (!is_delimited(bytes)) {
    return malformed("it does not end");
  }
  const auto first_field = read_status_line(bytes.data(), head);
  if (!first_field) {
    return std::unexpected(first_field.error());
  }
  if (auto read = read_fields(*first_field, limits, Folds::kUnfolded, head.fields); !read) {
    return read;
  }
  const Noticed noticed = notice(head.fields);
  if (noticed.has_connection && !has_clear_connection(head.fields)) {
    return malformed("Connection is not a list of tokens");
  }
  const auto framing = read_framing(noticed, head.minor_version);
  if (!framing) {
    return std::unexpected(framing.error());
  }
  head.content_length = framing->length.value_or(0);
  const bool bodiless =
      to_head_request || head.status < 200 || head.status == 204 || head.status == 304;
  head.framing = bodiless           ? Framing::kNone
                 : framing->chunked ? Framing::kChunked
                 : framing->length  ? Framing::kLength
                                    : Framing::kUntilClose;
  head.keep_alive =
      head.framing != Framing::kUntilClose && keeps_alive(noticed, head.fields, head.minor_version);
  return {};
}

}  // namespace rolter::http
