#include "rolter/admin/request_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <utility>

namespace rolter::admin {
namespace {

using ::testing::HasSubstr;

/// The status a request is refused with; 0 = let in.
int refused(const config::Admin& settings, std::string_view path,
            std::initializer_list<http::Field> lines) {
  http::Fields fields;
  for (const http::Field& line : lines) {
    fields.add(line.name, line.value);
  }
  const auto reply =
      guard(settings, {.method = "GET", .path = path, .query = {}, .fields = fields});
  return reply ? reply->status : 0;
}

config::Admin with_token() {
  config::Admin settings;
  settings.token = config::Secret("s3cret");
  return settings;
}

TEST(RequestGuard, without_a_token_only_names_of_this_machine_are_answered) {
  const config::Admin open;
  for (const char* host : {"localhost:4001", "127.0.0.1:4001", "[::1]:4001", "LocalHost"}) {
    EXPECT_EQ(refused(open, "/admin/state", {{"Host", host}}), 0) << host;
  }
  for (const char* host : {"evil.example:4001", "localhost.evil.example", "10.0.0.1", "", "["}) {
    EXPECT_EQ(refused(open, "/admin/state", {{"Host", host}}), 403) << host;
  }
}

TEST(RequestGuard, pages_of_other_origins_are_refused) {
  const config::Admin open;
  const http::Field host{"Host", "127.0.0.1:4001"};
  EXPECT_EQ(refused(open, "/admin/drain", {host, {"Origin", "http://127.0.0.1:4001"}}), 0);
  EXPECT_EQ(refused(open, "/admin/drain", {host, {"Origin", "http://127.0.0.1:3000"}}), 403);
  EXPECT_EQ(refused(open, "/admin/drain", {host, {"Origin", "https://evil.example"}}), 403);
  EXPECT_EQ(refused(open, "/admin/drain", {host, {"Origin", "null"}}), 403);
  EXPECT_EQ(refused(open, "/admin/state", {host, {"Sec-Fetch-Site", "cross-site"}}), 403);
  EXPECT_EQ(refused(open, "/admin/state", {host, {"Sec-Fetch-Site", "same-origin"}}), 0);
}

TEST(RequestGuard, a_link_elsewhere_may_lead_to_the_page) {
  EXPECT_EQ(refused({}, "/", {{"Host", "127.0.0.1:4001"}, {"Sec-Fetch-Site", "cross-site"}}), 0);
}

TEST(RequestGuard, with_a_token_everything_but_the_page_needs_it) {
  const http::Field host{"Host", "rolter.prod:4001"};
  EXPECT_EQ(refused(with_token(), "/", {host}), 0);
  EXPECT_EQ(refused(with_token(), "/page/page.js", {host}), 0);
  for (const char* path : {"/admin/state", "/admin/explain", "/admin/drain", "/metrics"}) {
    EXPECT_EQ(refused(with_token(), path, {host}), 401) << path;
    EXPECT_EQ(refused(with_token(), path, {host, {"Authorization", "Bearer s3cret"}}), 0) << path;
  }
}

TEST(RequestGuard, a_token_must_be_the_whole_token) {
  const config::Secret token("s3cret");
  const auto presents = [&](std::initializer_list<http::Field> lines) {
    http::Fields fields;
    for (const http::Field& line : lines) {
      fields.add(line.name, line.value);
    }
    return presents_token(token, fields);
  };
  EXPECT_TRUE(presents({{"authorization", "bearer s3cret"}}));
  for (const char* value : {"Bearer s3cre", "Bearer s3crets", "Bearer s3creT", "Bearer ", "s3cret",
                            "Basic s3cret", "Bearer s3crets3cret"}) {
    EXPECT_FALSE(presents({{"authorization", value}})) << value;
  }
  EXPECT_FALSE(presents({}));
  EXPECT_FALSE(presents({{"authorization", "Bearer s3cret"}, {"authorization", "Bearer s3cret"}}));
}

TEST(RequestGuard, no_token_configured_is_never_presented) {
  http::Fields fields;
  fields.add("authorization", "Bearer ");
  EXPECT_FALSE(presents_token(config::Secret(), fields));
}

TEST(RequestGuard, a_refusal_says_what_to_do) {
  http::Fields fields;
  fields.add("Host", "evil.example");
  const auto reply = guard({}, {.method = "GET", .path = "/", .query = {}, .fields = fields});
  ASSERT_TRUE(reply);
  EXPECT_THAT(reply->body, HasSubstr("token_env"));
}

}  // namespace
}  // namespace rolter::admin
