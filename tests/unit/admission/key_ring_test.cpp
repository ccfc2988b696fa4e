#include "rolter/admission/key_ring.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace rolter::admission {
namespace {

using config::Secret;
using std::chrono::seconds;

constexpr std::uint64_t kSeed = 42;
constexpr WallTime kNow{seconds{1'800'000'000}};

config::VirtualKey key(std::string_view name, std::string_view secret) {
  config::VirtualKey made;
  made.name = name;
  made.key = Secret(std::string(secret));
  return made;
}

config::Config with(std::vector<config::VirtualKey> keys) {
  config::Config config;
  config.auth = config::AuthMode::kKeys;
  config.virtual_keys = std::move(keys);
  return config;
}

PresentedKey presenting(std::string_view secret) {
  PresentedKey presented;
  presented.see_api_key(secret);
  return presented;
}

TEST(KeyRing, a_known_key_says_who_calls) {
  const KeyRing ring(with({key("a", "sk-a"), key("b", "sk-b")}), kSeed);
  EXPECT_EQ(ring.authenticate(presenting("sk-a"), kNow)->name(), "a");
  EXPECT_EQ(ring.authenticate(presenting("sk-b"), kNow)->name(), "b");
}

TEST(KeyRing, anything_else_is_unauthenticated_in_the_same_words) {
  const KeyRing ring(with({key("a", "sk-a")}), kSeed);
  for (const char* secret : {"sk-b", "sk-", "sk-aa", "SK-A", "a"}) {
    const auto caller = ring.authenticate(presenting(secret), kNow);
    ASSERT_FALSE(caller) << secret;
    EXPECT_EQ(caller.error().kind, ErrorKind::kUnauthenticated);
    EXPECT_EQ(caller.error().source, ErrorSource::kClient);
    EXPECT_EQ(caller.error().message, "the API key is not valid; check it, or ask for a new one");
  }
  EXPECT_EQ(ring.authenticate(PresentedKey(), kNow).error().kind, ErrorKind::kUnauthenticated);
}

TEST(KeyRing, without_keys_nobody_gets_in) {
  const KeyRing ring(with({}), kSeed);
  EXPECT_FALSE(ring.authenticate(presenting("sk-a"), kNow));
  EXPECT_FALSE(ring.authenticate(PresentedKey(), kNow));
}

TEST(KeyRing, an_open_gateway_lets_anyone_do_anything) {
  const KeyRing ring(config::Config{}, kSeed);
  const auto caller = ring.authenticate(PresentedKey(), kNow);
  ASSERT_TRUE(caller);
  EXPECT_EQ(caller->name(), "");
  EXPECT_TRUE(caller->may_use("any", "any"));
  EXPECT_TRUE(caller->admit(1'000'000, TimePoint{}));
  EXPECT_FALSE(caller->status(TimePoint{}));
}

TEST(KeyRing, a_disabled_key_is_told_so) {
  config::VirtualKey disabled = key("a", "sk-a");
  disabled.disabled = true;
  const KeyRing ring(with({disabled}), kSeed);
  const auto caller = ring.authenticate(presenting("sk-a"), kNow);
  ASSERT_FALSE(caller);
  EXPECT_EQ(caller.error().kind, ErrorKind::kUnauthenticated);
  EXPECT_EQ(caller.error().message, "the API key is disabled; ask for a new one");
}

TEST(KeyRing, a_key_works_until_its_expiry_and_not_at_it) {
  config::VirtualKey expiring = key("a", "sk-a");
  expiring.expires_at = kNow;
  const KeyRing ring(with({expiring}), kSeed);
  EXPECT_TRUE(ring.authenticate(presenting("sk-a"), kNow - seconds{1}));
  const auto caller = ring.authenticate(presenting("sk-a"), kNow);
  ASSERT_FALSE(caller);
  EXPECT_EQ(caller.error().message, "the API key has expired; ask for a new one");
}

TEST(KeyRing, a_key_uses_the_models_it_names_under_either_name) {
  config::VirtualKey limited = key("a", "sk-a");
  limited.models = {"llama", "gpt-4"};
  const KeyRing ring(with({limited, key("b", "sk-b")}), kSeed);
  const Caller a = *ring.authenticate(presenting("sk-a"), kNow);
  EXPECT_TRUE(a.may_use("llama", "llama"));
  EXPECT_TRUE(a.may_use("an-alias", "llama"));
  EXPECT_TRUE(a.may_use("gpt-4", "mixtral"));
  const auto denied = a.may_use("mixtral", "mixtral");
  ASSERT_FALSE(denied);
  EXPECT_EQ(denied.error().kind, ErrorKind::kDenied);
  EXPECT_TRUE(ring.authenticate(presenting("sk-b"), kNow)->may_use("mixtral", "mixtral"));
}

TEST(KeyRing, two_thousand_keys_are_told_apart) {
  std::vector<config::VirtualKey> keys;
  for (int i = 0; i < 2'000; ++i) {
    keys.push_back(key(fmt::format("name-{}", i), fmt::format("sk-{}", i)));
  }
  const KeyRing ring(with(std::move(keys)), kSeed);
  for (int i = 0; i < 2'000; ++i) {
    ASSERT_EQ(ring.authenticate(presenting(fmt::format("sk-{}", i)), kNow)->name(),
              fmt::format("name-{}", i));
  }
}

TEST(KeyRing, what_a_key_has_used_outlives_a_reload_that_keeps_its_name) {
  config::VirtualKey limited = key("a", "sk-old");
  limited.requests_per_minute = 2;
  const KeyRing before(with({limited}), kSeed);
  const TimePoint now{seconds{100}};
  ASSERT_TRUE(before.authenticate(presenting("sk-old"), kNow)->admit(0, now));

  limited.key = Secret("sk-new");
  limited.requests_per_minute = 3;
  config::VirtualKey other = limited;
  other.name = "b";
  other.key = Secret("sk-b");
  const KeyRing after(with({limited, other}), kSeed + 1, &before);
  EXPECT_FALSE(after.authenticate(presenting("sk-old"), kNow));
  EXPECT_EQ(after.authenticate(presenting("sk-new"), kNow)->status(now)->requests.remaining, 2U);
  EXPECT_EQ(after.authenticate(presenting("sk-b"), kNow)->status(now)->requests.remaining, 3U);
}

TEST(KeyRing, a_running_request_outlives_the_ring_that_let_it_in) {
  config::VirtualKey limited = key("a", "sk-a");
  limited.max_in_flight = 1;
  auto before = std::make_unique<KeyRing>(with({limited}), kSeed);
  const TimePoint now{seconds{100}};
  auto running = before->authenticate(presenting("sk-a"), kNow)->admit(0, now);
  ASSERT_TRUE(running);
  const KeyRing after(with({limited}), kSeed, before.get());
  before.reset();
  const Caller caller = *after.authenticate(presenting("sk-a"), kNow);
  EXPECT_FALSE(caller.admit(0, now));
  *running = Admission();
  EXPECT_TRUE(caller.admit(0, now));
}

}  // namespace
}  // namespace rolter::admission
