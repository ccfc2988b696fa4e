#include "rolter/feeds/kv_announcement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "tests/support/test_data.h"

namespace rolter::feeds {
namespace {

using config::TcpEndpoint;
using testing::HasSubstr;

/// The body of a recorded answer of a real engine.
std::string recorded_body(const std::string& name) {
  std::ifstream file(rolter::test_data() / "vllm-0.32/http" / name);
  std::stringstream text;
  text << file.rdbuf();
  const std::string all = text.str();
  return all.substr(all.find("\n{") + 1);
}

TEST(KvAnnouncement, reads_what_vllm_0_32_says) {
  const auto read = read_kv_event_sources(recorded_body("get_kv_event_sources.txt"));
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), 1U);
  EXPECT_EQ(read->front(),
            (AnnouncedStream{
                .rank = 0, .events = TcpEndpoint{"", 5557}, .replay = TcpEndpoint{"", 5657}}));
}

TEST(KvAnnouncement, orders_the_ranks_of_a_data_parallel_engine) {
  const auto read = read_kv_event_sources(
      R"({"1":{"endpoint":"tcp://*:5802","replay_endpoint":"tcp://*:5902"},
          "0":{"endpoint":"tcp://*:5801","replay_endpoint":null}})");
  ASSERT_TRUE(read);
  ASSERT_EQ(read->size(), 2U);
  EXPECT_EQ((*read)[0].events.port, 5801);
  EXPECT_FALSE((*read)[0].replay);
  EXPECT_EQ((*read)[1].rank, 1U);
  EXPECT_EQ((*read)[1].replay, (TcpEndpoint{"", 5902}));
}

TEST(KvAnnouncement, reads_lists_bare_or_under_sources) {
  const std::string list =
      R"([{"data_parallel_rank":3,"endpoint":"tcp://10.0.0.3:41235","topic":"kv"}])";
  for (const std::string& body : {list, R"({"sources":)" + list + "}"}) {
    const auto read = read_kv_event_sources(body);
    ASSERT_TRUE(read) << body;
    ASSERT_EQ(read->size(), 1U);
    EXPECT_EQ(read->front().rank, 3U);
    EXPECT_EQ(read->front().events, (TcpEndpoint{"10.0.0.3", 41235}));
  }
}

TEST(KvAnnouncement, every_spelling_of_any_interface_is_the_engine_itself) {
  for (const char* host : {"*", "0.0.0.0", "[::]"}) {
    const auto read =
        read_kv_event_sources(R"({"0":{"endpoint":"tcp://)" + std::string(host) + R"(:5557"}})");
    ASSERT_TRUE(read) << host;
    EXPECT_EQ(read->front().events.host, "") << host;
  }
}

TEST(KvAnnouncement, reads_the_port_range_of_sglang) {
  const auto read = read_server_info(
      R"({"model_path":"m","kv_events":{"publisher":"zmq","endpoint_host":"*",
          "endpoint_port_base":5557,"topic":"","block_size":16,"dp_size":2}})");
  ASSERT_TRUE(read);
  ASSERT_EQ(read->size(), 2U);
  EXPECT_EQ((*read)[1],
            (AnnouncedStream{.rank = 1, .events = TcpEndpoint{"", 5558}, .block_size = 16}));
}

TEST(KvAnnouncement, what_cannot_be_followed_is_an_error_that_says_why) {
  struct Case {
    Announcement (*read)(std::string_view);
    const char* body;
    const char* why;
  };
  const std::vector<Case> cases{
      {read_kv_event_sources, "not json", "no JSON"},
      {read_kv_event_sources, "", "no JSON"},
      {read_kv_event_sources, "{}", "no stream"},
      {read_kv_event_sources, "[]", "no stream"},
      {read_kv_event_sources, "17", "no stream"},
      {read_kv_event_sources, R"({"0":17})", "cannot be connected to"},
      {read_kv_event_sources, R"({"0":{"endpoint":"ipc:///x"}})", "cannot be connected to"},
      {read_kv_event_sources, R"({"0":{"endpoint":"tcp://*:0"}})", "cannot be connected to"},
      {read_kv_event_sources, R"({"0":{"endpoint":"tcp://*:1","replay_endpoint":"x"}})",
       "cannot be connected to"},
      {read_kv_event_sources, R"({"1024":{"endpoint":"tcp://*:1"}})", "past 1023"},
      {read_kv_event_sources, R"({"0":{"publisher":"null"}})", "publishes no KV events"},
      {read_kv_event_sources, R"({"0":{"enable_kv_cache_events":false}})", "switched off"},
      {read_kv_event_sources,
       R"([{"data_parallel_rank":1,"endpoint":"tcp://*:1"},{"endpoint":"tcp://*:2"}])", "twice"},
      {read_server_info, R"({"kv_events":null})", "publishes no KV events"},
      {read_server_info, R"([])", "publishes no KV events"},
      {read_server_info, R"({"kv_events":{"endpoint_host":"*"}})", "cannot be"},
      {read_server_info,
       R"({"kv_events":{"endpoint_host":"*","endpoint_port_base":65535,)"
       R"("dp_size":2}})",
       "cannot be"},
      {read_server_info, R"({"kv_events":{"endpoint_host":"a b","endpoint_port_base":5557}})",
       "no host"}};
  for (const Case& each : cases) {
    const auto read = each.read(each.body);
    ASSERT_FALSE(read) << each.body;
    EXPECT_THAT(read.error().message, HasSubstr(each.why)) << each.body;
  }
}

}  // namespace
}  // namespace rolter::feeds
