#include "rolter/openai/usage_filter.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace rolter::openai {
namespace {

constexpr std::string_view kUsage =
    R"(data: {"id":"a","choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2}})"
    "\n\n";
constexpr std::string_view kText = R"(data: {"id":"a","choices":[{"delta":{"content":"x"}}]})"
                                   "\n\n";
constexpr std::string_view kDone = "data: [DONE]\n\n";

std::string filtered(std::string_view bytes) {
  UsageFilter filter;
  std::string out;
  filter.feed(bytes, out);
  filter.finish(out);
  return out;
}

std::string joined(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) {
    text += part;
  }
  return text;
}

TEST(UsageFilter, takes_the_event_out_whose_choices_are_empty_and_whose_usage_is_an_object) {
  EXPECT_EQ(filtered(joined({kText, kUsage, kDone})), joined({kText, kDone}));
  EXPECT_EQ(filtered(R"(data:{"usage" : {"prompt_tokens":5}, "choices" : [ ]})"
                     "\r\n\r\n"),
            "");
}

TEST(UsageFilter, anything_else_passes) {
  for (const std::string_view event :
       {R"(data: {"choices":[{"delta":{}}],"usage":{"prompt_tokens":5}})",
        R"(data: {"choices":[],"usage":null})",
        R"(data: {"choices":[],"prompt_filter_results":[]})",
        R"(data: {"usage":{"prompt_tokens":5}})",
        R"(data: {"choices":[{"delta":{"content":"\"choices\":[],\"usage\":{}"}}]})",
        R"(data: {"choices":[],"usage":{)", R"(: "usage")", "event: usage\ndata: \"usage\"",
        "data: {\"choices\":[],\ndata: \"usage\":{}}", "", "\n", "id: 7\nretry: 1"}) {
    const std::string bytes = joined({kText, event, "\n\n", kDone});
    EXPECT_EQ(filtered(bytes), bytes);
  }
}

TEST(UsageFilter, what_is_no_whole_event_at_the_end_passes) {
  const std::string cut(kUsage.substr(0, kUsage.size() - 1));
  EXPECT_EQ(filtered(joined({kText, cut})), joined({kText, cut}));
}

TEST(UsageFilter, an_event_passes_with_its_empty_line_and_a_comment_with_its_own_end) {
  UsageFilter filter;
  std::string out;
  filter.feed(kText, out);
  EXPECT_EQ(out, kText);
  filter.feed(": ping\n", out);
  EXPECT_EQ(out, joined({kText, ": ping\n"}));
}

TEST(UsageFilter, a_long_event_passes_as_it_comes) {
  const std::string start = R"(data: {"choices":[],"usage":{"x":")";
  UsageFilter filter;
  std::string out;
  filter.feed(start, out);
  EXPECT_EQ(out, "");
  const std::string much(2 * UsageFilter::kLongest, 'y');
  filter.feed(much, out);
  EXPECT_EQ(out, start + much);
  filter.feed("\"}}\n\n", out);
  filter.feed(kUsage, out);
  EXPECT_EQ(out, start + much + "\"}}\n\n");
}

/// However a stream is cut into three pieces, and byte by byte, the same comes out.
TEST(UsageFilter, cuts_change_nothing) {
  for (const std::string_view end : {"\n", "\r\n", "\r"}) {
    std::string bytes;
    std::string wanted;
    for (const std::string_view line :
         {R"(data: {"choices":[{"text":"x"}]})", "", ": c", "", "",
          R"(data: {"choices":[],"usage":{"prompt_tokens":5}})", "", ": d",
          R"(data: {"choices":[],"usage":{}})", "", "data: [DONE]", ""}) {
      bytes.append(line).append(end);
    }
    wanted = filtered(bytes);
    EXPECT_EQ(wanted.find("usage"), std::string::npos);
    EXPECT_NE(wanted.find("[DONE]"), std::string::npos);
    for (std::size_t first = 0; first <= bytes.size(); ++first) {
      for (std::size_t second = first; second <= bytes.size(); ++second) {
        UsageFilter filter;
        std::string out;
        filter.feed(std::string_view(bytes).substr(0, first), out);
        filter.feed(std::string_view(bytes).substr(first, second - first), out);
        filter.feed(std::string_view(bytes).substr(second), out);
        filter.finish(out);
        ASSERT_EQ(out, wanted) << first << " " << second;
      }
    }
    UsageFilter filter;
    std::string out;
    for (const char byte : bytes) {
      filter.feed({&byte, 1}, out);
    }
    EXPECT_EQ(out, wanted);
  }
}

}  // namespace
}  // namespace rolter::openai
