#include "rolter/proxy/trace_context.h"

#include <gtest/gtest.h>

#include <string>

namespace rolter::proxy {
namespace {

constexpr std::string_view kTrace = "4bf92f3577b34da6a3ce929d0e0e4736";

std::string parent(std::string_view version, std::string_view trace, std::string_view rest) {
  return std::string(version) + "-" + std::string(trace) + "-" + std::string(rest);
}

TEST(TraceContext, the_second_part_names_the_trace) {
  EXPECT_EQ(trace_id_of(parent("00", kTrace, "00f067aa0ba902b7-01")), kTrace);
  EXPECT_EQ(trace_id_of(parent("00", kTrace, "00f067aa0ba902b7-00")), kTrace);
}

TEST(TraceContext, a_later_version_may_have_more_parts) {
  EXPECT_EQ(trace_id_of(parent("01", kTrace, "00f067aa0ba902b7-01")), kTrace);
  EXPECT_EQ(trace_id_of(parent("cc", kTrace, "00f067aa0ba902b7-01-what-comes")), kTrace);
  EXPECT_EQ(trace_id_of(parent("cc", kTrace, "00f067aa0ba902b7-01.what")), "");
}

TEST(TraceContext, what_is_malformed_names_none) {
  for (const std::string& text : {
           std::string(),
           std::string("-"),
           std::string(kTrace),
           parent("00", kTrace, ""),
           parent("00", kTrace, "00f067aa0ba902b7"),
           parent("00", kTrace, "00f067aa0ba902b7-"),
           parent("00", kTrace, "00f067aa0ba902b7-1"),
           parent("00", kTrace, "00f067aa0ba902b7-01-"),
           parent("00", kTrace, "00f067aa0ba902b7-01-x"),
           parent("00", kTrace, "0000000000000000-01"),
           parent("00", kTrace, "00F067AA0BA902B7-01"),
           parent("ff", kTrace, "00f067aa0ba902b7-01"),
           parent("0", kTrace, "00f067aa0ba902b7-01"),
           parent("00", std::string(32, '0'), "00f067aa0ba902b7-01"),
           parent("00", std::string(31, 'a'), "00f067aa0ba902b7-01"),
           parent("00", std::string(33, 'a'), "00f067aa0ba902b7-01"),
           parent("00", std::string(31, 'a') + "\"", "00f067aa0ba902b7-01"),
       }) {
    EXPECT_EQ(trace_id_of(text), "") << text;
  }
}

}  // namespace
}  // namespace rolter::proxy
