#include "rolter/cluster/engine_gauges.h"
#include "tests/support/test_data.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace rolter::cluster {
namespace {

TEST(EngineGauges, reads_what_a_real_vllm_publishes) {
  std::ifstream file(rolter::test_data() / "engine_metrics/vllm-0.32.prom");
  ASSERT_TRUE(file);
  std::ostringstream text;
  text << file.rdbuf();
  const EngineGauges gauges = parse_engine_gauges(text.str());
  EXPECT_EQ(gauges.depth(), 0.0);
  EXPECT_EQ(gauges.kv_usage, 0.0);
  EXPECT_EQ(gauges.started_at, 1'796'024'093.3);
}

TEST(EngineGauges, knows_old_and_new_names_of_vllm) {
  const char* load = "vllm:num_requests_running 3\nvllm:num_requests_waiting 4\n";
  for (const char* usage : {"vllm:kv_cache_usage_perc 0.5\n", "vllm:gpu_cache_usage_perc 0.5\n"}) {
    const EngineGauges gauges = parse_engine_gauges(std::string(load) + usage);
    EXPECT_EQ(gauges.depth(), 7.0);
    EXPECT_EQ(gauges.kv_usage, 0.5) << usage;
  }
}

TEST(EngineGauges, what_is_missing_is_unknown) {
  EXPECT_EQ(parse_engine_gauges("").depth(), std::nullopt);
  EXPECT_EQ(parse_engine_gauges("vllm:num_requests_running 3\n").depth(), std::nullopt);
  EXPECT_EQ(parse_engine_gauges("vllm:num_requests_running 3\n").kv_usage, std::nullopt);
  EXPECT_EQ(parse_engine_gauges("<html>not here</html>").running, std::nullopt);
}

TEST(EngineGauges, reads_a_name_whose_colon_an_exporter_rewrote) {
  EXPECT_EQ(
      parse_engine_gauges("vllm_num_requests_running 3\nvllm_num_requests_waiting 1\n").depth(),
      4.0);
}

TEST(EngineGauges, similar_names_are_not_mistaken) {
  const EngineGauges gauges = parse_engine_gauges(
      "vllm:num_requests_waiting_by_reason{reason=\"capacity\"} 9\n"
      "vllm:num_requests_running_total 9\nxvllm:num_requests_running 9\n");
  EXPECT_EQ(gauges.running, std::nullopt);
  EXPECT_EQ(gauges.waiting, std::nullopt);
}

TEST(EngineGauges, data_parallel_ranks_are_added_up) {
  const EngineGauges gauges = parse_engine_gauges(
      "vllm:num_requests_running{engine=\"0\"} 3\nvllm:num_requests_running{engine=\"1\"} 4\n"
      "vllm:num_requests_waiting{engine=\"0\"} 0\nvllm:num_requests_waiting{engine=\"1\"} 2\n"
      "vllm:kv_cache_usage_perc{engine=\"0\"} 0.2\nvllm:kv_cache_usage_perc{engine=\"1\"} 0.9\n");
  EXPECT_EQ(gauges.depth(), 9.0);
  EXPECT_EQ(gauges.kv_usage, 0.9);
}

TEST(EngineGauges, ranks_of_one_sglang_engine_are_counted_once) {
  const EngineGauges gauges = parse_engine_gauges(
      "sglang:num_running_reqs{tp_rank=\"0\",dp_rank=\"0\"} 3\n"
      "sglang:num_running_reqs{tp_rank=\"1\",dp_rank=\"0\"} 3\n"
      "sglang:num_running_reqs{tp_rank=\"0\",dp_rank=\"1\"} 5\n"
      "sglang:num_queue_reqs{tp_rank=\"0\"} 1\nsglang:num_queue_reqs{tp_rank=\"0\",pp_rank=\"1\"} "
      "1\n"
      "sglang:token_usage{tp_rank=\"0\"} 0.25\n");
  EXPECT_EQ(gauges.running, 8.0);
  EXPECT_EQ(gauges.waiting, 1.0);
  EXPECT_EQ(gauges.kv_usage, 0.25);
}

TEST(EngineGauges, values_that_cannot_be_are_unknown) {
  const EngineGauges gauges = parse_engine_gauges(
      "vllm:num_requests_running NaN\nvllm:num_requests_waiting -1\nvllm:kv_cache_usage_perc "
      "+Inf\n");
  EXPECT_EQ(gauges.running, std::nullopt);
  EXPECT_EQ(gauges.waiting, std::nullopt);
  EXPECT_EQ(gauges.kv_usage, std::nullopt);
}

}  // namespace
}  // namespace rolter::cluster
