#include "rolter/telemetry/access_log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

namespace rolter::telemetry {
namespace {

using namespace std::chrono_literals;

const WallTime kTime =
    WallTime{std::chrono::sys_days{std::chrono::year{2026} / 11 / 30}} + 7h + 53min + 41s + 23ms;

AccessRecord served() {
  AccessRecord record;
  record.time = kTime;
  record.request_id = "abc-1";
  record.client = "10.0.0.7";
  record.method = "POST";
  record.path = "/v1/chat/completions";
  record.route = "llama";
  record.target = "a/llama-3";
  record.reason = "prefix";
  record.key = "team";
  record.matched = 0.83;
  record.status = 200;
  record.bytes_in = 2400;
  record.bytes_out = 18'446'744'073'709'551'615ULL;
  record.ttft = 41250us;
  record.duration = 812ms;
  record.retries = 1;
  return record;
}

std::string line(LogFormat format, const AccessRecord& record) {
  std::string out;
  append_access_line(out, format, record);
  return out;
}

TEST(AccessLine, json_says_everything_about_a_request) {
  EXPECT_EQ(line(LogFormat::kJson, served()),
            R"({"time":"2026-11-30T07:53:41.023Z","level":"info","event":"request",)"
            R"("request_id":"abc-1","client":"10.0.0.7","key":"team","method":"POST",)"
            R"("path":"/v1/chat/completions","route":"llama","target":"a/llama-3",)"
            R"("reason":"prefix","matched":0.830,"status":200,"bytes_in":2400,)"
            R"("bytes_out":18446744073709551615,"ttft_ms":41.250,"duration_ms":812.000,)"
            R"("retries":1})"
            "\n");
}

TEST(AccessLine, blocks_and_tokens_are_there_when_they_are_known) {
  AccessRecord record = served();
  const std::string blocks(16 * 100, 'a');
  record.blocks = blocks;
  record.prompt_bytes = 204'000;
  record.prompt_tokens = 50'000;
  record.completion_tokens = 7;
  const std::string json = line(LogFormat::kJson, record);
  EXPECT_NE(json.find(R"("retries":1,"prompt_tokens":50000,"completion_tokens":7,)"
                      R"("prompt_bytes":204000,"blocks":")" +
                      blocks + "\"}\n"),
            std::string::npos)
      << json;
}

TEST(AccessLine, the_trace_of_a_request_that_has_one_follows_its_id) {
  AccessRecord record = served();
  record.trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
  EXPECT_NE(line(LogFormat::kJson, record)
                .find(R"("request_id":"abc-1","trace_id":"4bf92f3577b34da6a3ce929d0e0e4736",)"),
            std::string::npos);
  EXPECT_NE(line(LogFormat::kText, record)
                .find("request_id=abc-1 trace_id=4bf92f3577b34da6a3ce929d0e0e4736 client="),
            std::string::npos);
}

TEST(AccessLine, text_says_the_same) {
  EXPECT_EQ(line(LogFormat::kText, served()),
            "2026-11-30T07:53:41.023Z info request request_id=abc-1 client=10.0.0.7 key=team "
            "method=POST path=/v1/chat/completions route=llama target=a/llama-3 reason=prefix "
            "matched=0.830 status=200 bytes_in=2400 bytes_out=18446744073709551615 ttft_ms=41.250 "
            "duration_ms=812.000 retries=1\n");
}

TEST(AccessLine, a_refused_request_has_a_line_with_its_cause) {
  AccessRecord record;
  record.time = kTime;
  record.request_id = "x";
  record.status = 401;
  record.error = "unknown key";
  EXPECT_EQ(line(LogFormat::kText, record),
            "2026-11-30T07:53:41.023Z info request request_id=x status=401 bytes_in=0 bytes_out=0 "
            "duration_ms=0.000 retries=0 error=\"unknown key\"\n");
}

TEST(AccessLine, nothing_a_client_sends_makes_a_second_line) {
  AccessRecord record = served();
  record.request_id = "a\r\n{\"level\":\"error\"}";
  record.path = "/v1/\x1b[2J\n";
  record.route = std::string_view{"m\0n", 3};
  for (const LogFormat format : {LogFormat::kJson, LogFormat::kText}) {
    const std::string out = line(format, record);
    EXPECT_EQ(std::ranges::count(out, '\n'), 1) << out;
    EXPECT_EQ(out.find('\x1b'), std::string::npos);
    EXPECT_EQ(out.find('\r'), std::string::npos);
  }
}

TEST(AccessLine, does_not_allocate_while_the_buffer_has_room) {
  std::string out;
  out.reserve(AccessLog::kBatchBytes);
  const char* data = out.data();
  for (int i = 0; i < 30; ++i) {
    append_access_line(out, LogFormat::kJson, served());
  }
  EXPECT_EQ(out.data(), data);
}

TEST(AccessLog, lines_gather_until_a_batch_is_full_or_flushed) {
  LogQueue queue{1 << 20};
  AccessLog log{queue, LogFormat::kJson};
  const std::size_t lines_per_batch =
      AccessLog::kBatchBytes / line(LogFormat::kJson, served()).size() + 1;
  for (std::size_t i = 0; i < lines_per_batch + 1; ++i) {
    log.write(served());
  }
  std::vector<std::string> batches;
  ASSERT_TRUE(queue.take(batches));
  ASSERT_EQ(batches.size(), 1U);
  EXPECT_EQ(std::ranges::count(batches[0], '\n'), lines_per_batch);
  log.flush();
  ASSERT_TRUE(queue.take(batches));
  EXPECT_EQ(std::ranges::count(batches[0], '\n'), 1);
}

TEST(AccessLog, hands_over_what_is_left_when_its_loop_ends) {
  LogQueue queue{1 << 20};
  {
    AccessLog{queue, LogFormat::kText}.write(served());
  }
  std::vector<std::string> batches;
  ASSERT_TRUE(queue.take(batches));
  EXPECT_EQ(batches[0], line(LogFormat::kText, served()));
}

}  // namespace
}  // namespace rolter::telemetry
