#include "rolter/feeds/lmcache_answer.h"

#include <gtest/gtest.h>

#include <string>

namespace rolter::feeds {
namespace {

using cluster::LmcacheReading;
using config::LmcacheFormat;

TEST(LmcacheAnswer, reads_the_simple_form) {
  EXPECT_EQ(read_lmcache_answer(LmcacheFormat::kJson,
                                R"( {"note":[1,{}],"cache_available":true,"occupancy":0.25} )"),
            (LmcacheReading{.occupancy = 0.25, .available = true}));
  EXPECT_EQ(read_lmcache_answer(LmcacheFormat::kJson, R"({"occupancy":1,"cache_available":false})"),
            (LmcacheReading{.occupancy = 1.0, .available = false}));
}

TEST(LmcacheAnswer, refuses_what_is_malformed_or_cannot_be) {
  for (const char* body :
       {"", "{", "[]", "7", "null", "<html>", R"({"occupancy":0.5})", R"({"cache_available":true})",
        R"({"occupancy":"0.5","cache_available":true})",
        R"({"occupancy":0.5,"cache_available":"yes"})", R"({"occupancy":0.5,"cache_available":1})",
        R"({"occupancy":-0.1,"cache_available":true})",
        R"({"occupancy":1.01,"cache_available":true})",
        R"({"occupancy":1e999,"cache_available":true})",
        R"({"occupancy":null,"cache_available":true})", "{\"occupancy\":0.5,\"\xff\":1}"}) {
    EXPECT_FALSE(read_lmcache_answer(LmcacheFormat::kJson, body)) << body;
    EXPECT_FALSE(read_lmcache_answer(LmcacheFormat::kLmcacheStatus, body)) << body;
    EXPECT_FALSE(read_lmcache_answer(LmcacheFormat::kPrometheus, body)) << body;
  }
}

TEST(LmcacheAnswer, finds_the_ratio_of_a_status_at_any_depth) {
  const char* nested =
      R"({"is_healthy":true,"engine_type":"blend","storage_manager":{"backends":[{"l1":
          {"memory_used_bytes":10,"memory_usage_ratio":0.75,"is_healthy":true}}]}})";
  EXPECT_EQ(read_lmcache_answer(LmcacheFormat::kLmcacheStatus, nested),
            (LmcacheReading{.occupancy = 0.75, .available = true}));
  EXPECT_EQ(read_lmcache_answer(LmcacheFormat::kLmcacheStatus, R"({"memory_usage_ratio":0.5})"),
            (LmcacheReading{.occupancy = 0.5, .available = true}));
}

TEST(LmcacheAnswer, an_unhealthy_server_has_no_cache_available) {
  EXPECT_EQ(read_lmcache_answer(LmcacheFormat::kLmcacheStatus,
                                R"({"is_healthy":false,"l1":{"memory_usage_ratio":0.1}})"),
            (LmcacheReading{.occupancy = 0.1, .available = false}));
  EXPECT_FALSE(read_lmcache_answer(LmcacheFormat::kLmcacheStatus,
                                   R"({"is_healthy":"no","l1":{"memory_usage_ratio":0.1}})"));
}

TEST(LmcacheAnswer, reads_the_gauge_and_takes_the_fullest) {
  EXPECT_EQ(read_lmcache_answer(LmcacheFormat::kPrometheus,
                                "# TYPE lmcache_mp_l1_usage_ratio gauge\n"
                                "lmcache_mp_l1_usage_ratio{worker=\"0\"} 0.25\n"
                                "lmcache_mp_l1_usage_ratio{worker=\"1\"} 0.5\n"),
            (LmcacheReading{.occupancy = 0.5, .available = true}));
  EXPECT_FALSE(read_lmcache_answer(LmcacheFormat::kPrometheus, "lmcache_mp_l1_usage_ratio NaN\n"));
  EXPECT_FALSE(read_lmcache_answer(LmcacheFormat::kPrometheus, "lmcache_mp_l1_usage_ratio 7\n"));
}

TEST(LmcacheAnswer, a_deep_document_neither_crashes_nor_passes) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_FALSE(read_lmcache_answer(LmcacheFormat::kLmcacheStatus, R"({"a":)" + deep + "}"));
}

}  // namespace
}  // namespace rolter::feeds
