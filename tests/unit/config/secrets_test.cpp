// Where secrets come from, and that findings never repeat one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/config/loading.h"

namespace rolter::config {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::string with_api_key(std::string_view lines) {
  return with_line(3, "api_base = \"http://h\"\n" + std::string(lines));
}

TEST(Secrets, come_from_a_named_variable) {
  const LoadResult result = load(with_api_key("api_key_env = \"KEY\""), {{"KEY", "sk-1"}});
  EXPECT_THAT(result.findings, IsEmpty());
  ASSERT_TRUE(result.config);
  EXPECT_EQ(result.config->providers[0].api_key.reveal(), "sk-1");
}

TEST(Secrets, come_from_a_reference_in_the_string) {
  const LoadResult result = load(with_api_key("api_key = \"sk-${KEY}\""), {{"KEY", "1"}});
  EXPECT_THAT(result.findings, IsEmpty());
  ASSERT_TRUE(result.config);
  EXPECT_EQ(result.config->providers[0].api_key.reveal(), "sk-1");
}

TEST(Secrets, may_stand_in_the_file_with_a_warning) {
  const std::string text = with_api_key("api_key = \"sk-1\"");
  EXPECT_THAT(findings(text),
              ElementsAre("rolter.toml:4:11: warning: providers[0].api_key: a literal secret; "
                          "api_key_env or ${VARIABLE} keeps it out of the file"));
  ASSERT_TRUE(load(text).config);
  EXPECT_EQ(load(text).config->providers[0].api_key.reveal(), "sk-1");
}

TEST(Secrets, a_header_that_carries_one_is_warned_about) {
  EXPECT_THAT(findings(with_api_key("headers = { X-Api-Key = \"abc\", X-Org = \"acme\" }")),
              ElementsAre("rolter.toml:4:25: warning: providers[0].headers.X-Api-Key: a literal "
                          "secret; ${VARIABLE} keeps it out of the file"));
}

TEST(Secrets, the_authorization_header_is_set_once) {
  EXPECT_THAT(errors(with_api_key("api_key_env = \"K\"\nheaders = { authorization = \"${K}\" }"),
                     {{"K", "sk-1"}}),
              ElementsAre("rolter.toml:5:29: error: providers[0].headers.authorization: api_key "
                          "sets this header already; give one of the two"));
}

struct SecretLines {
  std::string lines;  // of a provider, from line 4 on
  std::string error;
};

void PrintTo(const SecretLines& fault, std::ostream* out) {
  *out << fault.lines;
}

class SecretFault : public testing::TestWithParam<SecretLines> {};

TEST_P(SecretFault, is_reported_without_the_secret) {
  const Variables variables = {{"EMPTY", ""}, {"KEY", "sk-1"}, {"LINES", "sk-1\n"}};
  EXPECT_THAT(errors(with_api_key(GetParam().lines), variables), ElementsAre(GetParam().error));
}

INSTANTIATE_TEST_SUITE_P(
    Secrets, SecretFault,
    testing::Values(
        SecretLines{
            "api_key_env = \"NOT_SET\"",
            "rolter.toml:4:15: error: providers[0].api_key_env: environment variable NOT_SET is "
            "not set"},
        SecretLines{
            "api_key_env = \"EMPTY\"",
            "rolter.toml:4:15: error: providers[0].api_key_env: environment variable EMPTY is "
            "empty"},
        SecretLines{
            "api_key_env = \"LINES\"",
            "rolter.toml:4:15: error: providers[0].api_key_env: environment variable LINES holds "
            "a control character, such as a line end"},
        SecretLines{
            "api_key_env = \"sk-live-1234\"",
            "rolter.toml:4:15: error: providers[0].api_key_env: not the name of an environment "
            "variable (letters, digits and _)"},
        SecretLines{
            "api_key_env = \"sk_live_1234\"",
            "rolter.toml:4:15: error: providers[0].api_key_env: the environment variable named "
            "here is not set"},
        SecretLines{
            "api_key = \"${NOT_SET}\"",
            "rolter.toml:4:11: error: providers[0].api_key: environment variable NOT_SET is not "
            "set"},
        SecretLines{"api_key = \"\"",
                    "rolter.toml:4:11: error: providers[0].api_key: must not be empty"},
        SecretLines{"api_key = \"${EMPTY}\"",
                    "rolter.toml:4:11: error: providers[0].api_key: must not be empty"},
        SecretLines{
            "api_key = \"${KEY\"",
            "rolter.toml:4:11: error: providers[0].api_key: \"${\" without \"}\"; write $${ for "
            "a literal ${"},
        SecretLines{
            "api_key = 1234",
            "rolter.toml:4:11: error: providers[0].api_key: must be a string, but is a whole "
            "number; write it in quotes"},
        SecretLines{"api_key = \"sk-1\"\napi_key_env = \"KEY\"",
                    "rolter.toml:5:15: error: providers[0].api_key_env: give either api_key or "
                    "api_key_env, not both"}));

TEST(Secrets, the_query_of_a_faulty_url_is_not_repeated) {
  const std::string url = "lmcache = { endpoint = \"http://h:99999/s?token=sk-live-1\" }";
  EXPECT_THAT(errors(with_api_key(url)),
              ElementsAre(AllOf(HasSubstr("\"http://h:99999/s?...\" is no usable URL"),
                                Not(HasSubstr("sk-live")))));
}

TEST(Secrets, a_virtual_key_without_its_key_is_no_key) {
  EXPECT_THAT(errors(kSmall + "[[virtual_keys]]\nname = \"a\"\n"),
              ElementsAre("rolter.toml:9:1: error: virtual_keys[0]: \"key\" is missing; key_env "
                          "names a variable that holds it"));
}

TEST(Secrets, the_value_of_a_reference_is_never_shown) {
  const Variables variables = {{"HIDDEN", "hunter2"}};
  const std::vector<std::string> lines = findings(R"([server]
host = "${HIDDEN}:1"
metrics_path = "${HIDDEN}"
[log]
level = "${HIDDEN}"
[egress]
allow_hosts = ["${HIDDEN}:1"]
[[virtual_keys]]
key = "hunter2"
expires_at = "${HIDDEN}"
[[virtual_keys]]
key = "hunter2"
[[providers]]
name = "a"
api_base = "${HIDDEN}"
headers = { "Content-Length" = "hunter2" }
[providers.kv_events]
endpoint = "${HIDDEN}"
[[routes]]
model = "m"
strategy = "${HIDDEN}"
shadow = ["${HIDDEN}"]
[[routes.targets]]
provider = "${HIDDEN}"
model = "m"
)",
                                                  variables);
  EXPECT_GE(lines.size(), 12U);
  EXPECT_THAT(lines, Each(Not(HasSubstr("hunter2"))));
}

TEST(Secrets, an_unquoted_number_that_is_too_long_is_not_repeated) {
  EXPECT_THAT(errors("[[providers]]\napi_key = 99999999999999999999\n"),
              Each(AllOf(HasSubstr("rolter.toml:2:"), Not(HasSubstr("9999")))));
}

TEST(Secrets, the_expiry_of_a_key_may_be_a_date_or_its_text) {
  const auto expiry = [](std::string_view value) {
    const LoadResult result =
        load(kSmall + "[[virtual_keys]]\nkey = \"a\"\nexpires_at = " + std::string(value) + "\n");
    return result.config ? result.config->virtual_keys[0].expires_at : std::nullopt;
  };
  const WallTime expected{std::chrono::seconds{1'801'353'600}};
  EXPECT_EQ(expiry("2027-01-31T00:00:00Z"), expected);
  EXPECT_EQ(expiry("2027-01-31 01:30:00+01:30"), expected);
  EXPECT_EQ(expiry("\"2027-01-31T00:00:00Z\""), expected);
  EXPECT_EQ(expiry("\"2027-01-30T23:00:00.000-01:00\""), expected);
  // Nanoseconds since 1970 hold neither.
  const auto never = expiry("9999-12-31T23:59:59Z");
  ASSERT_TRUE(never);
  EXPECT_GT(*never, WallTime{std::chrono::years{290}});
  EXPECT_EQ(expiry("1013-02-01T00:00:00Z"), WallTime{});
  EXPECT_EQ(expiry("0000-01-01T00:00:00+23:59"), WallTime{});
}

TEST(Secrets, an_expiry_that_names_no_instant_is_refused) {
  for (const char* value : {"2027-01-31", "2027-01-31T00:00:00", "\"tomorrow\"", "\"\"", "7",
                            "12:00:00", "\"2027-02-30T00:00:00Z\""}) {
    EXPECT_THAT(errors(kSmall + "[[virtual_keys]]\nkey = \"a\"\nexpires_at = " + value + "\n"),
                ElementsAre("rolter.toml:11:14: error: virtual_keys[0].expires_at: must be a date "
                            "and time with an offset, such as 2027-01-31T00:00:00Z"))
        << value;
  }
}

}  // namespace
}  // namespace rolter::config
