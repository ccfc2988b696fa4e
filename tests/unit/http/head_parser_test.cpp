#include "rolter/http/head_parser.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace rolter::http {
namespace {

Result<RequestHead> parse(std::string& bytes, HeadLimits limits = {}) {
  RequestHead head;
  auto parsed = parse_request_head({bytes.data(), bytes.size()}, limits, head);
  if (!parsed) {
    return std::unexpected(parsed.error());
  }
  return head;
}

TEST(RequestHead, keeps_fields_in_order_with_repetitions) {
  std::string bytes =
      "POST /v1/chat/completions?a=1&b=%2F HTTP/1.1\r\nHost: h\r\nX-A:  1 \r\nx-b: 2\r\nX-A: 3\r\n"
      "Content-Length: 12\r\n\r\n";
  const auto head = parse(bytes);
  ASSERT_TRUE(head) << head.error().message;
  EXPECT_EQ(head->method, "POST");
  EXPECT_EQ(head->target, "/v1/chat/completions?a=1&b=%2F");
  EXPECT_EQ(head->fields.size(), 5u);
  EXPECT_EQ(head->fields.get("x-a"), "1");
  EXPECT_EQ(head->fields.count("X-A"), 2u);
  EXPECT_EQ(head->content_length, 12u);
  EXPECT_EQ(head->framing, Framing::kLength);
  EXPECT_TRUE(head->keep_alive);
}

TEST(RequestHead, refuses_what_could_be_read_in_two_ways) {
  for (const char* text : {
           "GET / HTTP/1.1\r\n\r\n",                        // no Host
           "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",  // two Hosts
           "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 5, 6\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: +5\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: \r\n\r\n",
           "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: "
           "chunked\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n",
           "GET / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: a\r\nX: 1\r\n folded\r\n\r\n",  // obs-fold
           "GET / HTTP/1.1\r\nHost: a\r\nX : 1\r\n\r\n",            // space
           "GET / HTTP/1.1\r\nHost: a\r\nX: 1\n\r\n\r\n",           // bare LF
           "GET / HTTP/1.1\r\nHost: a\r\nConnection: close x\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, cl\xffose\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: a\r\nConnection: x\r\nProxy-Connection: a;b\r\n\r\n",
           "GET / HTTP/2.0\r\nHost: a\r\n\r\n",
           "GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
           "GET / a HTTP/1.1\r\nHost: a\r\n\r\n",
       }) {
    std::string bytes = text;
    EXPECT_FALSE(parse(bytes)) << text;
  }
}

TEST(RequestHead, limits_bytes_and_fields_but_not_the_token_ids) {
  std::string many = "GET / HTTP/1.1\r\nHost: a\r\n";
  for (int i = 0; i < 200; ++i) {
    many += "X-" + std::to_string(i) + ": 1\r\n";
  }
  many += "\r\n";
  const auto refused = parse(many);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kLimitExceeded);

  const std::string ids(200'000, '7');
  std::string long_ids =
      "GET / HTTP/1.1\r\nHost: a\r\nX-Rolter-vLLM-Token-Ids: " + ids + "\r\n\r\n";
  EXPECT_TRUE(parse(long_ids));
  HeadFinder finder;
  const auto pending = finder.find(std::string_view(long_ids).substr(0, 100'000), {});
  ASSERT_TRUE(pending);
  EXPECT_EQ(*pending, 0u);

  const std::string other = "GET / HTTP/1.1\r\nHost: a\r\nX-Long: " + ids;
  HeadFinder other_finder;
  EXPECT_FALSE(other_finder.find(std::string_view(other).substr(0, 100'000), {}));
}

TEST(HeadFinder, finds_the_end_however_the_head_arrives) {
  const std::string head = "GET / HTTP/1.1\r\nHost: a\r\n\r\nbody";
  HeadFinder finder;
  for (std::size_t have = 1; have < head.size() - 4; ++have) {
    EXPECT_EQ(*finder.find(std::string_view(head).substr(0, have), {}), 0u) << have;
  }
  EXPECT_EQ(*finder.find(head, {}), head.size() - 4);
}

ResponseHead parse_answer(std::string& bytes, bool to_head_request = false) {
  ResponseHead head;
  const auto parsed = parse_response_head({bytes.data(), bytes.size()}, {}, to_head_request, head);
  EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().message);
  return head;
}

TEST(ResponseHead, knows_how_the_body_ends) {
  std::string length = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n";
  EXPECT_EQ(parse_answer(length).framing, Framing::kLength);
  EXPECT_EQ(parse_answer(length, true).framing, Framing::kNone);
  std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(parse_answer(chunked).framing, Framing::kChunked);
  std::string close = "HTTP/1.0 200 OK\r\n\r\n";
  EXPECT_EQ(parse_answer(close).framing, Framing::kUntilClose);
  EXPECT_FALSE(parse_answer(close).keep_alive);
  std::string none = "HTTP/1.1 204 No Content\r\n\r\n";
  EXPECT_EQ(parse_answer(none).framing, Framing::kNone);
  EXPECT_TRUE(parse_answer(none).keep_alive);
}

TEST(HeadParser, connection_may_have_empty_members) {
  std::string bytes = "GET / HTTP/1.1\r\nHost: a\r\nConnection: , close ,, x-mine\t,\r\n\r\n";
  EXPECT_TRUE(parse(bytes));
}

TEST(ResponseHead, folded_lines_become_one) {
  std::string bytes = "HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 0\r\n\r\n";
  EXPECT_EQ(parse_answer(bytes).fields.get("x"), "a   b");
}

TEST(HopByHop, covers_what_connection_names) {
  Fields fields;
  fields.add("Connection", "close, X-Mine");
  const HopByHop hop_by_hop(fields);
  EXPECT_TRUE(hop_by_hop.covers("connection"));
  EXPECT_TRUE(hop_by_hop.covers("x-mine"));
  EXPECT_TRUE(hop_by_hop.covers("TE"));
  EXPECT_FALSE(hop_by_hop.covers("x-other"));
}

}  // namespace
}  // namespace rolter::http
