// What the loader says of faults in the general tables, word for word.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/config/loading.h"

namespace rolter::config {
namespace {

using testing::ElementsAre;

struct TableText {
  std::string toml;  // appended to kSmall: its first line is line 9
  std::string error;
};

void PrintTo(const TableText& fault, std::ostream* out) {
  *out << fault.toml;
}

class TableFault : public testing::TestWithParam<TableText> {};

TEST_P(TableFault, is_reported_with_its_place_and_the_mend) {
  EXPECT_THAT(errors(kSmall + GetParam().toml), ElementsAre(GetParam().error));
}

INSTANTIATE_TEST_SUITE_P(
    UnknownKeys, TableFault,
    testing::Values(
        TableText{"[server]\nprot = 1\n",
                  "rolter.toml:10:1: error: server.prot: unknown key; did you mean \"port\"?"},
        TableText{
            "[server]\nmax_retries = 1\n",
            "rolter.toml:10:1: error: server.max_retries: unknown key; it belongs in [retry]"},
        TableText{"[sever]\nport = 1\n",
                  "rolter.toml:9:2: error: sever: unknown key; did you mean \"server\"?"},
        TableText{"[auth]\nzzzzzz = 1\n",
                  "rolter.toml:10:1: error: auth.zzzzzz: unknown key; known here: mode"},
        TableText{"[health]\n\"a\\nb\" = 1\n",
                  "rolter.toml:10:1: error: health.a?b: unknown key; known here: enabled, "
                  "interval_secs, timeout_secs, path, fail_after, pass_after"}));

INSTANTIATE_TEST_SUITE_P(
    WrongTypes, TableFault,
    testing::Values(
        TableText{
            "[server]\nport = \"4000\"\n",
            "rolter.toml:10:8: error: server.port: must be a whole number from 0 to 65535, but "
            "is a string; write it without quotes"},
        TableText{
            "[server]\nmax_body_bytes = 1.5\n",
            "rolter.toml:10:18: error: server.max_body_bytes: must be a whole number at least "
            "0, but is a fraction"},
        TableText{
            "[retry]\nbudget = true\n",
            "rolter.toml:10:10: error: retry.budget: must be a number from 0 to 1, but is true "
            "or false"},
        TableText{
            "[log]\naccess = \"yes\"\n",
            "rolter.toml:10:10: error: log.access: must be true or false, but is a string; write "
            "it without quotes"},
        TableText{
            "[log]\nlevel = 3\n",
            "rolter.toml:10:9: error: log.level: must be a string, but is a whole number; write "
            "it in quotes"},
        TableText{
            "[egress]\nallow_hosts = \"a\"\n",
            "rolter.toml:10:15: error: egress.allow_hosts: must be a list of strings, but is a "
            "string"},
        TableText{
            "[egress]\nallow_hosts = [1]\n",
            "rolter.toml:10:16: error: egress.allow_hosts[0]: must be a string, but is a whole "
            "number; write it in quotes"},
        TableText{"[[retry]]\nbudget = 0\n",
                  "rolter.toml:9:1: error: retry: must be a table ([retry]), but is a list"},
        TableText{"[virtual_keys]\nkey = \"a\"\n",
                  "rolter.toml:9:1: error: virtual_keys: must be a list of tables "
                  "([[virtual_keys]]), but is a table"},
        TableText{
            "[index]\nsave_path = 2027-01-31\n",
            "rolter.toml:10:13: error: index.save_path: must be a string, but is a date; write "
            "it in quotes"}));

INSTANTIATE_TEST_SUITE_P(
    Ranges, TableFault,
    testing::Values(
        TableText{"[server]\nport = 65536\n",
                  "rolter.toml:10:8: error: server.port: must be from 0 to 65535, but is 65536"},
        TableText{"[server]\nloops = 0\n",
                  "rolter.toml:10:9: error: server.loops: must be from 1 to 1024, but is 0"},
        TableText{"[server]\nmax_connections = 0\n",
                  "rolter.toml:10:19: error: server.max_connections: must be at least 1, but is 0"},
        TableText{
            "[server]\nmax_body_bytes = -1\n",
            "rolter.toml:10:18: error: server.max_body_bytes: must not be negative, but is -1"},
        TableText{
            "[timeouts]\nidle_secs = -0.5\n",
            "rolter.toml:10:13: error: timeouts.idle_secs: must not be negative, but is -0.5"},
        TableText{
            "[timeouts]\nidle_secs = nan\n",
            "rolter.toml:10:13: error: timeouts.idle_secs: must be from 0 to 315360000, but is "
            "nan"},
        TableText{
            "[health]\ninterval_secs = 0\n",
            "rolter.toml:10:17: error: health.interval_secs: must be greater than 0 and at most "
            "315360000, but is 0"},
        TableText{"[retry]\nbudget = 1.5\n",
                  "rolter.toml:10:10: error: retry.budget: must be from 0 to 1, but is 1.5"},
        TableText{
            "[retry]\nmax_retries = 101\n",
            "rolter.toml:10:15: error: retry.max_retries: must be from 0 to 100, but is 101"}));

INSTANTIATE_TEST_SUITE_P(
    Words, TableFault,
    testing::Values(
        TableText{"[log]\nlevel = \"warning\"\n",
                  "rolter.toml:10:9: error: log.level: unknown level \"warning\"; did you mean "
                  "\"warn\"?"},
        TableText{
            "[log]\nformat = \"xml\"\n",
            "rolter.toml:10:10: error: log.format: unknown format \"xml\"; known: json, text"},
        TableText{
            "[auth]\nmode = \"kyes\"\n",
            "rolter.toml:10:8: error: auth.mode: unknown mode \"kyes\"; did you mean \"keys\"?"},
        TableText{
            "[server]\nhost = \"0.0.0.0:80\"\n",
            "rolter.toml:10:8: error: server.host: \"0.0.0.0:80\" is neither an address nor a "
            "host name"},
        TableText{
            "[server]\nmetrics_path = \"metrics\"\n",
            "rolter.toml:10:16: error: server.metrics_path: \"metrics\" is not a path; it must "
            "start with \"/\" and hold no blank, \"?\" or \"#\""},
        TableText{
            "[server]\nmetrics_path = \"/v1/models\"\n",
            "rolter.toml:10:16: error: server.metrics_path: \"/v1/models\" belongs to the API; "
            "choose another path"},
        TableText{"[server.tls]\nkey = \"k.pem\"\n",
                  "rolter.toml:9:1: error: server.tls: \"cert\" is missing"},
        TableText{
            "[egress]\nallow_hosts = [\"*.example\"]\n",
            "rolter.toml:10:16: error: egress.allow_hosts: \"*.example\" is neither a host name "
            "nor an address; write it without scheme, port or wildcard"}));

TEST(TableFaults, all_of_them_are_found_in_one_run) {
  EXPECT_THAT(errors("[server]\nport = -1\nprot = 2\n[log]\nlevel = \"loud\"\n"),
              ElementsAre("rolter.toml:1:1: error: providers: there are no providers; add "
                          "[[providers]] with name and api_base",
                          "rolter.toml:1:1: error: routes: there are no routes; add [[routes]] "
                          "with model and [[routes.targets]]",
                          "rolter.toml:2:8: error: server.port: must not be negative, but is -1",
                          "rolter.toml:3:1: error: server.prot: unknown key; did you mean "
                          "\"port\"?",
                          "rolter.toml:5:9: error: log.level: unknown level \"loud\"; known: "
                          "debug, info, warn, error"));
}

TEST(TableFaults, the_range_of_a_count_ends_where_its_type_does) {
  EXPECT_THAT(errors(kSmall + "[breaker]\nfailure_threshold = 4294967296\n"),
              ElementsAre("rolter.toml:10:21: error: breaker.failure_threshold: must be from 1 to "
                          "4294967295, but is 4294967296"));
}

TEST(TableFaults, port_0_is_any_free_one_for_both_listeners) {
  const LoadResult result = load(kSmall + "[server]\nport = 0\n[admin]\nport = 0\n");
  ASSERT_TRUE(result.config);
  EXPECT_EQ(result.config->server.port, 0);
  EXPECT_EQ(result.config->admin.port, 0);
}

TEST(TableFaults, a_fraction_of_a_millisecond_does_not_become_no_limit) {
  const LoadResult result = load(kSmall + "[timeouts]\nidle_secs = 0.0001\n");
  ASSERT_TRUE(result.config);
  EXPECT_EQ(result.config->timeouts.idle, milliseconds{1});
}

}  // namespace
}  // namespace rolter::config
