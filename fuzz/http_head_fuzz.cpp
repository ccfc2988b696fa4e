// A head of a request (first byte even) or of an answer. What our parser accepts, Beast's strict
// one accepts too and reads alike: method, target, version, status, every field, and where the body
// ends. Ours may refuse more.
#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rolter/http/head_parser.h"

namespace {

namespace beast_http = boost::beast::http;
using rolter::http::Framing;

void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

std::string_view view(boost::beast::string_view text) {
  return {text.data(), text.size()};
}

/// Beast's reading of a head that ours has accepted.
template <bool kIsRequest>
void read_as_beast(beast_http::parser<kIsRequest, beast_http::string_body>& parser,
                   std::string_view bytes) {
  parser.header_limit(1U << 30);
  parser.body_limit(boost::none);
  boost::beast::error_code ec;
  parser.put(boost::asio::buffer(bytes.data(), bytes.size()), ec);
  require(!ec || ec == beast_http::error::need_more);
  require(parser.is_header_done());
}

using Fields = std::vector<std::pair<std::string_view, std::string_view>>;

/// In Beast's order: it keeps fields of one name together, at the first one's place.
Fields gathered(const Fields& fields) {
  Fields all;
  for (const auto& field : fields) {
    const auto same = std::find_if(all.rbegin(), all.rend(), [&](const auto& other) {
      return boost::beast::iequals(other.first, field.first);
    });
    all.insert(same == all.rend() ? all.end() : same.base(), field);
  }
  return all;
}

template <typename Head, typename Parser>
void require_same(const Head& head, const Parser& parser) {
  require(parser.get().version() == 10U + static_cast<unsigned>(head.minor_version));
  Fields ours;
  for (const rolter::http::Field& field : head.fields) {
    ours.emplace_back(field.name, field.value);
  }
  Fields theirs;
  for (const auto& field : parser.get()) {
    theirs.emplace_back(view(field.name_string()), view(field.value()));
  }
  require(gathered(ours) == theirs);
}

bool has_fold(std::string_view bytes) {
  return bytes.contains("\r\n ") || bytes.contains("\r\n\t");
}

void check_request(std::string bytes) {
  const std::string original = bytes;
  rolter::http::RequestHead head;
  if (!rolter::http::parse_request_head({bytes.data(), bytes.size()}, {}, head)) {
    return;
  }
  require(bytes == original);
  beast_http::request_parser<beast_http::string_body> parser;
  read_as_beast(parser, bytes);
  require_same(head, parser);
  require(view(parser.get().method_string()) == head.method);
  require(view(parser.get().target()) == head.target);
  require(parser.chunked() == (head.framing == Framing::kChunked));
  require(head.framing == Framing::kChunked ||
          parser.content_length().value_or(0) == head.content_length);
}

void check_response(std::string bytes) {
  const bool folded = has_fold(bytes);
  rolter::http::ResponseHead head;
  if (!rolter::http::parse_response_head({bytes.data(), bytes.size()}, {}, false, head) || folded ||
      bytes[12] != ' ') {  // Beast wants the space before a missing reason
    return;
  }
  beast_http::response_parser<beast_http::string_body> parser;
  read_as_beast(parser, bytes);
  require_same(head, parser);
  require(parser.get().result_int() == static_cast<unsigned>(head.status));
  require(head.reason.empty() ||  // then Beast has a word of its own
          view(parser.get().reason()) == head.reason);
  if (head.framing != Framing::kNone) {
    require(parser.chunked() == (head.framing == Framing::kChunked));
    require(parser.content_length().has_value() == (head.framing == Framing::kLength));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) {
    return 0;
  }
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  const std::size_t end = bytes.find("\r\n\r\n");
  const std::string head(end == std::string_view::npos ? bytes : bytes.substr(0, end + 4));
  data[0] % 2 == 0 ? check_request(head) : check_response(head);
  return 0;
}
