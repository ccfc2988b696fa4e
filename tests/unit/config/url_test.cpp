#include "rolter/config/url.h"

#include <gtest/gtest.h>

namespace rolter::config {
namespace {

TEST(Url, an_api_base_means_the_same_with_and_without_its_version) {
  const Url expected{false, "h", 8001, ""};
  for (const char* text : {"http://h:8001", "http://h:8001/", "http://h:8001/v1",
                           "http://h:8001/v1/", "http://h:8001//", "HTTP://H:8001/v1//"}) {
    EXPECT_EQ(parse_api_base(text), expected) << text;
  }
}

TEST(Url, a_path_before_the_version_stays) {
  EXPECT_EQ(parse_api_base("https://h/engines/a/v1/")->base_path, "/engines/a");
  EXPECT_EQ(parse_api_base("https://h/engines%20a")->base_path, "/engines%20a");
  EXPECT_EQ(parse_api_base("https://h/v10")->base_path, "/v10");
  EXPECT_EQ(parse_api_base("https://h/nov1")->base_path, "/nov1");
}

TEST(Url, the_port_follows_the_scheme) {
  EXPECT_EQ(parse_api_base("http://h")->port, 80);
  EXPECT_EQ(parse_api_base("https://h")->port, 443);
  EXPECT_EQ(parse_api_base("https://h:65535")->port, 65535);
}

TEST(Url, an_ipv6_host_stands_in_brackets) {
  EXPECT_EQ(parse_api_base("http://[::1]:8001/v1"), (Url{false, "::1", 8001, ""}));
  EXPECT_EQ(parse_api_base("http://[2001:DB8::1]"), (Url{false, "2001:db8::1", 80, ""}));
  EXPECT_EQ(to_string(*parse_api_base("http://[::1]:8001/a")), "http://[::1]:8001/a");
}

TEST(Url, the_host_is_compared_in_one_form) {
  EXPECT_EQ(parse_api_base("http://VLLM-1.Example.:80")->host, "vllm-1.example");
  EXPECT_EQ(parse_api_base("http://%6cocalhost")->host, "localhost");
  EXPECT_EQ(parse_api_base("http://my_pod-0.svc")->host, "my_pod-0.svc");
}

TEST(Url, what_is_no_api_base_says_why) {
  const auto why = [](const char* text) {
    const auto url = parse_api_base(text);
    return url ? "accepted" : url.error();
  };
  const std::string bad_host =
      "the host is neither a name of letters, digits, \"-\", \".\" and \"_\" nor an address";
  EXPECT_EQ(why("h:8001"), "the scheme is missing; write http:// or https:// in front");
  EXPECT_EQ(why("//h:8001"), "the scheme is missing; write http:// or https:// in front");
  EXPECT_EQ(why("http:/h"), "the scheme is missing; write http:// or https:// in front");
  EXPECT_EQ(why("unix:///run/x"), "only http:// and https:// are supported");
  EXPECT_EQ(why("http://:80"), "the host is missing");
  EXPECT_EQ(why("http://h:"), "the port must be a number from 1 to 65535");
  EXPECT_EQ(why("http://h:80a"), "the port must be a number from 1 to 65535");
  EXPECT_EQ(why("http://h:+80"), "the port must be a number from 1 to 65535");
  EXPECT_EQ(why("http://h:65536"), "the port must be a number from 1 to 65535");
  EXPECT_EQ(why("http://h:99999999999"), "the port must be a number from 1 to 65535");
  EXPECT_EQ(why("http://[::1"), "\"[\" without \"]\"");
  EXPECT_EQ(why("http://[::1]x"), "\"]\" must be followed by \":\" and the port, or by nothing");
  EXPECT_EQ(why("http://[::1]x:80"), "\"]\" must be followed by \":\" and the port, or by nothing");
  EXPECT_EQ(why("http://[fe80::1%25eth0]"),
            "an IPv6 zone id is not supported; name a global address");
  EXPECT_EQ(why("http://[localhost]"), bad_host);
  EXPECT_EQ(why("http://[::g]"), bad_host);
  EXPECT_EQ(why("http://a b"), bad_host);
  EXPECT_EQ(why("http://a..b"), bad_host);
  EXPECT_EQ(why("http://.a"), bad_host);
  EXPECT_EQ(why("http://a.."), bad_host);
  EXPECT_EQ(why("http://b\xc3\xbc"), bad_host);
  EXPECT_EQ(why("http://a%00b"), bad_host);
  EXPECT_EQ(why("http://u@h"),
            "a user name or password does not belong in it; use api_key or headers");
  EXPECT_EQ(why("http://h/a?b"), "a \"?\" query does not belong in it");
  EXPECT_EQ(why("http://h?b"), "a \"?\" query does not belong in it");
  EXPECT_EQ(why("http://h#b"), "a \"#\" fragment does not belong in it");
  EXPECT_EQ(why("http://h/a b"),
            "the path holds a blank or another character that must be percent-encoded");
}

TEST(Url, a_polled_url_keeps_its_path_and_query) {
  EXPECT_EQ(parse_http_url("http://h:8080/status?a=b"), (Url{false, "h", 8080, "/status?a=b"}));
  EXPECT_EQ(parse_http_url("http://h/v1/"), (Url{false, "h", 80, "/v1/"}));
  EXPECT_EQ(parse_http_url("http://h"), (Url{false, "h", 80, "/"}));
  EXPECT_EQ(parse_http_url("http://h?a"), (Url{false, "h", 80, "/?a"}));
}

TEST(Url, an_endpoint_is_a_host_and_a_port) {
  EXPECT_EQ(parse_tcp_endpoint("tcp://vllm-1:5557"), (TcpEndpoint{"vllm-1", 5557}));
  EXPECT_EQ(parse_tcp_endpoint("TCP://[::1]:5557"), (TcpEndpoint{"::1", 5557}));
  EXPECT_EQ(to_string(TcpEndpoint{"::1", 5557}), "tcp://[::1]:5557");
  EXPECT_EQ(to_string(TcpEndpoint{"h", 5557}), "tcp://h:5557");
  for (const char* text :
       {"", "h:5557", "tcp://", "tcp://h", "tcp://h:0", "tcp://h:5557/x", "tcp://*:5557",
        "ipc:///tmp/a", "inproc://a", "tcp://::1:5557", "tcp://h:5557 "}) {
    EXPECT_FALSE(parse_tcp_endpoint(text)) << text;
  }
}

}  // namespace
}  // namespace rolter::config
