// What the loader says of faults in [[providers]], word for word.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/config/loading.h"

namespace rolter::config {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class ProviderFault : public testing::TestWithParam<LineFault> {};

TEST_P(ProviderFault, is_reported_with_its_place_and_the_mend) {
  EXPECT_THAT(errors(with_line(GetParam().line, GetParam().toml)), ElementsAre(GetParam().error));
}

INSTANTIATE_TEST_SUITE_P(
    ApiBase, ProviderFault,
    testing::Values(
        LineFault{3, "", "rolter.toml:1:1: error: providers[0]: \"api_base\" is missing"},
        LineFault{3, "api_base = \"\"",
                  "rolter.toml:3:12: error: providers[0].api_base: must not be empty"},
        LineFault{3, "api_base = \"localhost:8001\"",
                  "rolter.toml:3:12: error: providers[0].api_base: \"localhost:8001\" is no usable "
                  "URL: the scheme is missing; write http:// or https:// in front"},
        LineFault{
            3, "api_base = \"ftp://h\"",
            "rolter.toml:3:12: error: providers[0].api_base: \"ftp://h\" is no usable URL: only "
            "http:// and https:// are supported"},
        LineFault{
            3, "api_base = \"http://\"",
            "rolter.toml:3:12: error: providers[0].api_base: \"http://\" is no usable URL: the "
            "host is missing"},
        LineFault{
            3, "api_base = \"http://h:0\"",
            "rolter.toml:3:12: error: providers[0].api_base: \"http://h:0\" is no usable URL: "
            "the port must be a number from 1 to 65535"},
        LineFault{
            3, "api_base = \"http://::1:8001\"",
            "rolter.toml:3:12: error: providers[0].api_base: \"http://::1:8001\" is no usable "
            "URL: an IPv6 address needs brackets, as in http://[::1]:8001"},
        LineFault{3, "api_base = \"http://user:hunter2@h\"",
                  "rolter.toml:3:12: error: providers[0].api_base: no usable URL: a user name or "
                  "password does not belong in it; use api_key or headers"},
        LineFault{
            3, "api_base = 8001",
            "rolter.toml:3:12: error: providers[0].api_base: must be a string, but is a whole "
            "number; write it in quotes"},
        LineFault{
            3, "api_base = \"http://169.254.169.254/v1\"",
            "rolter.toml:3:12: error: providers[0].api_base: 169.254.169.254 is denied: "
            "link-local and metadata addresses are blocked by [egress] block_link_local; name "
            "the host in allow_hosts to make an exception"},
        LineFault{3, "api_base = \"http://0xa9fea9fe/v1\"",
                  "rolter.toml:3:12: error: providers[0].api_base: 0xa9fea9fe (169.254.169.254) is "
                  "denied: link-local and metadata addresses are blocked by [egress] "
                  "block_link_local; name the host in allow_hosts to make an exception"},
        LineFault{
            3, "api_base = \"http://[ff02::1]\"",
            "rolter.toml:3:12: error: providers[0].api_base: ff02::1 is denied: multicast and "
            "broadcast addresses are never connected to"}));

INSTANTIATE_TEST_SUITE_P(
    NamesAndHeaders, ProviderFault,
    testing::Values(
        LineFault{
            3, "api_base = \"http://h\"\nkind = \"opena_compatible\"",
            "rolter.toml:4:8: error: providers[0].kind: unknown kind \"opena_compatible\"; did "
            "you mean \"openai_compatible\"?"},
        LineFault{
            3, "api_base = \"http://h\"\nheaders = \"X: y\"",
            "rolter.toml:4:11: error: providers[0].headers: must be a table of strings, but is "
            "a string"},
        LineFault{3, "api_base = \"http://h\"\nheaders = { Transfer-Encoding = \"chunked\" }",
                  "rolter.toml:4:33: error: providers[0].headers.Transfer-Encoding: this header is "
                  "set by the gateway; remove it"},
        LineFault{3, "api_base = \"http://h\"\nheaders = { \"a b\" = \"c\" }",
                  "rolter.toml:4:21: error: providers[0].headers.a b: not a header name"},
        LineFault{
            3, "api_base = \"http://h\"\nheaders = { X-A = \"c\\r\\nd\" }",
            "rolter.toml:4:19: error: providers[0].headers.X-A: holds a control character, such "
            "as a line end; remove it"},
        LineFault{3, "api_base = \"http://h\"\nheaders = { X-A = \"c\", x-a = \"d\" }",
                  "rolter.toml:4:30: error: providers[0].headers.x-a: this header is given twice; "
                  "case does not matter"}));

const std::string kEvents = "api_base = \"http://h\"\n[providers.kv_events]\n";

INSTANTIATE_TEST_SUITE_P(
    KvEvents, ProviderFault,
    testing::Values(
        LineFault{
            3, kEvents,
            "rolter.toml:4:1: error: providers[0].kv_events: \"endpoint\" is missing; give it, "
            "or set discover = true"},
        LineFault{
            3, kEvents + "endpoint = \"http://h:5557\"",
            "rolter.toml:5:12: error: providers[0].kv_events.endpoint: \"http://h:5557\" is no "
            "usable endpoint (tcp://host:port): it must start with tcp://"},
        LineFault{
            3, kEvents + "endpoint = \"tcp://h\"",
            "rolter.toml:5:12: error: providers[0].kv_events.endpoint: \"tcp://h\" is no usable "
            "endpoint (tcp://host:port): the port is missing"},
        LineFault{
            3, kEvents + "endpoint = \"tcp://*:5557\"",
            "rolter.toml:5:12: error: providers[0].kv_events.endpoint: \"tcp://*:5557\" is no "
            "usable endpoint (tcp://host:port): \"*\" is what the engine binds; name the host "
            "to connect to"},
        LineFault{
            3, kEvents + "endpoint = \"tcp://169.254.1.1:5557\"",
            "rolter.toml:5:12: error: providers[0].kv_events.endpoint: 169.254.1.1 is denied: "
            "link-local and metadata addresses are blocked by [egress] block_link_local; name "
            "the host in allow_hosts to make an exception"},
        LineFault{3, kEvents + "discover = true\nreplay_endpoint = \"tcp://[fe80::1]:5557\"",
                  "rolter.toml:6:19: error: providers[0].kv_events.replay_endpoint: fe80::1 is "
                  "denied: link-local and metadata addresses are blocked by [egress] "
                  "block_link_local; name the host in allow_hosts to make an exception"},
        LineFault{3, kEvents + "endpoint = \"tcp://h:65535\"\ndp_size = 2",
                  "rolter.toml:5:12: error: providers[0].kv_events.endpoint: dp_size 2 needs ports "
                  "65535 to 65536, past 65535"},
        LineFault{
            3, kEvents + "endpoint = \"tcp://h:5557\"\ndp_size = 0",
            "rolter.toml:6:11: error: providers[0].kv_events.dp_size: must be from 1 to 1024, "
            "but is 0"}));

const std::string kLmcache = "api_base = \"http://h\"\n[providers.lmcache]\n";

INSTANTIATE_TEST_SUITE_P(
    Lmcache, ProviderFault,
    testing::Values(
        LineFault{3, kLmcache,
                  "rolter.toml:4:1: error: providers[0].lmcache: \"endpoint\" is missing"},
        LineFault{
            3, kLmcache + "endpoint = \"http://169.254.169.254/status\"",
            "rolter.toml:5:12: error: providers[0].lmcache.endpoint: 169.254.169.254 is denied: "
            "link-local and metadata addresses are blocked by [egress] block_link_local; name "
            "the host in allow_hosts to make an exception"},
        LineFault{
            3, kLmcache + "endpoint = \"http://h\"\nformat = \"status\"",
            "rolter.toml:6:10: error: providers[0].lmcache.format: unknown format \"status\"; "
            "known: json, prometheus, lmcache_status"},
        LineFault{
            3, kLmcache + "endpoint = \"http://h\"\nstale_secs = 1",
            "rolter.toml:6:14: error: providers[0].lmcache.stale_secs: must not be shorter than "
            "refresh_secs"}));

TEST(Provider, a_name_fits_into_a_header) {
  for (const char* name : {"vllm 1", "vllm-\u00e9"}) {
    EXPECT_THAT(errors(with_line(2, std::string("name = \"") + name + "\"")),
                testing::Contains("rolter.toml:2:8: error: providers[0].name: must hold visible "
                                  "ASCII characters only, since x-rolter-provider carries it"))
        << name;
  }
}

TEST(Provider, a_denied_address_may_be_excepted_by_name) {
  const std::string allow = "[egress]\nallow_hosts = [\"169.254.169.254\"]\n";
  EXPECT_THAT(errors(with_line(3, "api_base = \"http://169.254.169.254\"") + allow), IsEmpty());
  EXPECT_THAT(errors(with_line(3, "api_base = \"http://0xa9fea9fe\"") + allow), IsEmpty());
}

TEST(Provider, localhost_is_loopback_to_the_egress_policy) {
  EXPECT_THAT(errors(kSmall + "[egress]\nblock_loopback = true\n"),
              ElementsAre("rolter.toml:3:12: error: providers[0].api_base: localhost is denied: "
                          "loopback addresses are blocked by [egress] block_loopback; name the "
                          "host in allow_hosts to make an exception"));
}

}  // namespace
}  // namespace rolter::config
