#include "rolter/config/reload.h"

#include <gtest/gtest.h>

#include "tests/unit/config/loading.h"

namespace rolter::config {
namespace {

const std::string kKey = "[[virtual_keys]]\nkey = \"sk-a\"\n";

Config config(const std::string& text) {
  return *load(text).config;
}

TEST(Reload, losing_the_last_key_does_not_open_the_gateway) {
  const auto refusal = refuse_reload(config(kSmall + kKey), config(kSmall));
  ASSERT_TRUE(refusal);
  EXPECT_EQ(format_finding("rolter.toml", *refusal),
            "rolter.toml: error: auth.mode: without [[virtual_keys]] the gateway would be open to "
            "everyone; keep a key, or set [auth] mode = \"open\" if that is meant");
}

TEST(Reload, saying_open_opens_it) {
  EXPECT_FALSE(refuse_reload(config(kSmall + kKey), config(kSmall + "[auth]\nmode = \"open\"\n")));
}

TEST(Reload, an_open_gateway_may_stay_open_or_be_closed) {
  EXPECT_FALSE(refuse_reload(config(kSmall), config(kSmall)));
  EXPECT_FALSE(refuse_reload(config(kSmall), config(kSmall + kKey)));
}

TEST(Reload, a_closed_gateway_may_lose_its_keys_and_stay_closed) {
  EXPECT_FALSE(refuse_reload(config(kSmall + kKey), config(kSmall + "[auth]\nmode = \"keys\"\n")));
}

TEST(Reload, keys_that_only_a_start_looks_at_are_named_when_they_change) {
  EXPECT_TRUE(needs_restart(config(kSmall), config(kSmall + "[retry]\nmax_retries = 1\n")).empty());
  const std::vector<std::string> changed{"server.port", "server.loops"};
  EXPECT_EQ(needs_restart(config(kSmall), config(kSmall + "[server]\nport = 1\nloops = 9\n")),
            changed);
}

}  // namespace
}  // namespace rolter::config
