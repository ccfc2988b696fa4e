#include "rolter/cluster/exposition_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace rolter::cluster {
namespace {

std::vector<Sample> read(std::string_view text) {
  std::vector<Sample> samples;
  ExpositionReader reader{text};
  while (const auto sample = reader.next()) {
    samples.push_back(*sample);
  }
  return samples;
}

TEST(ExpositionText, reads_names_labels_and_values) {
  const auto samples = read(
      "# HELP a Words.\n# TYPE a gauge\n"
      "a 1\n"
      "b{x=\"1\",y=\"two\"} 2.5e3 1700000000\n"
      "\tc { x = \"1\" }\t+Inf\r\n"
      "\n"
      "d{} -3");
  ASSERT_EQ(samples.size(), 4U);
  EXPECT_EQ(samples[0].name, "a");
  EXPECT_EQ(samples[0].value, 1.0);
  EXPECT_EQ(samples[1].label("y"), "two");
  EXPECT_EQ(samples[1].label("z"), std::nullopt);
  EXPECT_EQ(samples[1].value, 2500.0);
  EXPECT_EQ(samples[2].name, "c");
  EXPECT_TRUE(std::isinf(samples[2].value));
  EXPECT_EQ(samples[3].name, "d");
  EXPECT_EQ(samples[3].value, -3.0);
}

TEST(ExpositionText, what_stands_in_quotes_is_not_syntax) {
  const auto samples = read(R"(a{x="}\" 9,y=\"no\"",y="yes"} 4)");
  ASSERT_EQ(samples.size(), 1U);
  EXPECT_EQ(samples[0].label("y"), "yes");
  EXPECT_EQ(samples[0].value, 4.0);
}

TEST(ExpositionText, lines_that_are_no_sample_are_passed_over) {
  for (const char* line : {"<html>", "a", "a{", "a{x=\"1\"", "a{x=\"1} 2", "a x", "{x=\"1\"} 2",
                           "a{x=\"1\"}", "a 1.5.2", "{\"error\":\"not found\"}", "a \xff"}) {
    const std::string text = std::string(line) + "\nok 7\n";  // samples point into it
    const auto samples = read(text);
    ASSERT_EQ(samples.size(), 1U) << line;
    EXPECT_EQ(samples[0].name, "ok") << line;
  }
}

TEST(ExpositionText, a_last_line_without_an_end_counts) {
  EXPECT_EQ(read("a 1\nb 2").size(), 2U);
  EXPECT_TRUE(read("").empty());
}

}  // namespace
}  // namespace rolter::cluster
