#include "rolter/telemetry/app_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace rolter::telemetry {
namespace {

using testing::EndsWith;
using testing::MatchesRegex;

std::string only_line(LogQueue& queue) {
  std::vector<std::string> batches;
  queue.close();
  if (!queue.take(batches)) {
    return "";
  }
  EXPECT_EQ(batches.size(), 1U);
  return batches.front();
}

TEST(AppLog, a_message_is_one_json_object_on_one_line) {
  LogQueue queue{1 << 20};
  AppLog log{queue, LogLevel::kInfo, LogFormat::kJson};
  log.warn("replica {} is {}\n\"odd\"", "a", 7);
  EXPECT_THAT(only_line(queue), MatchesRegex("\\{\"time\":\"20..-..-..T..:..:..\\....Z\",\"level\":"
                                             "\"warning\",\"message\":\"replica a "
                                             "is 7\\\\n\\\\\"odd\\\\\"\"\\}\n"));
}

TEST(AppLog, text_reads_as_a_sentence) {
  LogQueue queue{1 << 20};
  AppLog log{queue, LogLevel::kInfo, LogFormat::kText};
  log.info("listening on http://{}:{}", "127.0.0.1", 4000);
  EXPECT_THAT(only_line(queue), EndsWith("Z info listening on http://127.0.0.1:4000\n"));
}

TEST(AppLog, what_looks_like_a_pattern_is_only_text) {
  LogQueue queue{1 << 20};
  AppLog log{queue, LogLevel::kInfo, LogFormat::kText};
  log.write(LogLevel::kError, "100% {} %v");
  EXPECT_THAT(only_line(queue), EndsWith("error 100% {} %v\n"));
}

TEST(AppLog, says_only_what_its_level_lets_through) {
  LogQueue queue{1 << 20};
  AppLog log{queue, LogLevel::kWarn, LogFormat::kText};
  log.info("quiet");
  EXPECT_FALSE(log.enabled(LogLevel::kInfo));
  log.configure(LogLevel::kDebug, LogFormat::kJson);
  log.debug("loud");
  EXPECT_THAT(only_line(queue), EndsWith("\"level\":\"debug\",\"message\":\"loud\"}\n"));
}

TEST(LogFormat, names_are_those_of_the_configuration) {
  EXPECT_EQ(parse_log_format("text"), LogFormat::kText);
  EXPECT_EQ(parse_log_format("xml"), std::nullopt);
  EXPECT_EQ(parse_log_level("error"), LogLevel::kError);
  EXPECT_EQ(parse_log_level("loud"), std::nullopt);
}

}  // namespace
}  // namespace rolter::telemetry
