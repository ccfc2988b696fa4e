#include "rolter/feeds/http_get.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "tests/integration/feeds/poll_test_loop.h"

namespace rolter::feeds {
namespace {

using namespace std::chrono_literals;
using fakes::http_answer;
using fakes::HttpResponder;

class HttpGetTest : public PollTest {
 protected:
  Result<GetAnswer> get(HttpSource source,
                        GetLimits limits = {.timeout = 5s, .max_body_bytes = 1000}) {
    std::optional<Result<GetAnswer>> answer;
    scope_.spawn("get", get_into(source, limits, answer));
    run_until([&] { return answer.has_value(); });
    return answer.value_or(fail(ErrorKind::kInternal, "no answer"));
  }

  http::Task<> get_into(HttpSource source, GetLimits limits,
                        std::optional<Result<GetAnswer>>& answer) {
    const std::string head = render_get(source, "/base/health");
    answer = co_await get_.run(source, head, limits);
  }

  HttpGet get_{loop_};
};

TEST_F(HttpGetTest, asks_with_the_providers_key_and_reads_the_answer) {
  HttpResponder replica{io_, [](const std::string&) { return http_answer(200, "fine"); }};
  const auto answer = get(source_of(replica));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->body, "fine");
  ASSERT_EQ(replica.heads().size(), 1U);
  EXPECT_EQ(replica.heads()[0],
            "GET /base/health HTTP/1.1\r\nHost: replica\r\n"
            "Authorization: Bearer of-the-provider\r\nUser-Agent: rolter\r\nAccept: */*\r\n"
            "Connection: close\r\n\r\n");
}

TEST_F(HttpGetTest, reads_every_framing) {
  std::string bytes;
  HttpResponder replica{io_, [&bytes](const std::string&) { return bytes; }};
  bytes = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
  EXPECT_EQ(get(source_of(replica))->body, "abcde");
  bytes = "HTTP/1.1 200 OK\r\n\r\nuntil the end";
  EXPECT_EQ(get(source_of(replica))->body, "until the end");
  bytes = "HTTP/1.1 204 No Content\r\n\r\n";
  EXPECT_EQ(get(source_of(replica))->status, 204);
}

TEST_F(HttpGetTest, does_not_follow_a_redirect) {
  HttpResponder replica{io_, [](const std::string&) {
                          return "HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\n"
                                 "Content-Length: 0\r\n\r\n";
                        }};
  EXPECT_EQ(get(source_of(replica))->status, 302);
  EXPECT_EQ(replica.heads().size(), 1U);
}

TEST_F(HttpGetTest, tells_a_refusal_from_silence_and_from_nonsense) {
  HttpResponder replica{io_, [](const std::string&) { return std::nullopt; }};
  EXPECT_EQ(get(source_of(replica), {.timeout = 100ms, .max_body_bytes = 1000}).error().kind,
            ErrorKind::kTimeout);
  replica.respond = [](const std::string&) { return "SSH-2.0-OpenSSH\r\n\r\n"; };
  EXPECT_EQ(get(source_of(replica)).error().kind, ErrorKind::kProtocol);
  replica.respond = [](const std::string&) { return ""; };
  EXPECT_EQ(get(source_of(replica)).error().kind, ErrorKind::kConnectionClosed);
  replica.stop_listening();
  EXPECT_EQ(get(source_of(replica)).error().kind, ErrorKind::kConnectRefused);
}

TEST_F(HttpGetTest, an_answer_without_an_end_is_cut_at_its_limit) {
  HttpResponder replica{
      io_, [](const std::string&) { return http_answer(200, std::string(5000, 'x')); }};
  EXPECT_EQ(get(source_of(replica)).error().kind, ErrorKind::kLimitExceeded);
}

TEST_F(HttpGetTest, a_broken_answer_is_an_error) {
  HttpResponder replica{
      io_, [](const std::string&) { return "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"; }};
  EXPECT_FALSE(get(source_of(replica)));
}

TEST_F(HttpGetTest, an_address_that_egress_denies_is_not_dialled) {
  HttpResponder replica{io_, [](const std::string&) { return http_answer(200, ""); }};
  HttpSource source = source_of(replica);
  source.egress = [](const http::Endpoint&) -> Result<void> {
    return fail(ErrorKind::kDenied, "not there");
  };
  EXPECT_EQ(get(source).error().kind, ErrorKind::kDenied);
  EXPECT_TRUE(replica.heads().empty());
}

TEST_F(HttpGetTest, abort_ends_it_and_whatever_comes_later) {
  HttpResponder replica{io_, [](const std::string&) { return std::nullopt; }};
  std::optional<Result<GetAnswer>> answer;
  scope_.spawn("get", get_into(source_of(replica), {.timeout = 0s, .max_body_bytes = 10}, answer));
  run_until([&] { return replica.heads().size() == 1; });
  get_.abort();
  run_until([&] { return answer.has_value(); });
  EXPECT_EQ(answer->error().kind, ErrorKind::kCancelled);
  EXPECT_EQ(get(source_of(replica)).error().kind, ErrorKind::kCancelled);
}

}  // namespace
}  // namespace rolter::feeds
