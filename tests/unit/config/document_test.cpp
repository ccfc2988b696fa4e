#include "rolter/config/document.h"

#include <gtest/gtest.h>

#include "tests/unit/config/loading.h"

namespace rolter::config {
namespace {

TEST(Document, a_fault_of_the_syntax_has_a_place) {
  const std::vector<std::string> lines = findings("[server]\nport 4000\n");
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].rfind("rolter.toml:2:6: error: not valid TOML: ", 0), 0U) << lines[0];
  EXPECT_EQ(findings("a = 1\na = 2\n").size(), 1U);
  EXPECT_EQ(findings("a = \"\xff\"\n").size(), 1U);
}

// toml++ 3.3 breaks an assertion of its own on these.
TEST(Document, what_the_parser_gives_up_on_is_a_fault_with_its_line) {
  const std::string error = "rolter.toml:9:1: error: not valid TOML: this line cannot be read";
  EXPECT_EQ(findings(kSmall + "[[[providers]]\nname = \"a\"\n"), std::vector{error});
  EXPECT_EQ(findings(kSmall + "[!]"), std::vector{error});
  EXPECT_EQ(findings("[=]").size(), 1U);
}

TEST(Document, outside_quotes_and_comments_only_ascii_may_stand) {
  const auto fault = [](const std::string& at) {
    return std::vector<std::string>{
        at + ": error: not valid TOML: outside quotes and comments only ASCII may stand"};
  };
  EXPECT_EQ(findings("[server]\n\xd2\x90 = 1\n"), fault("rolter.toml:2:1"));
  EXPECT_EQ(findings("[server]\nhost\xc2\xa0= 'a'\n"), fault("rolter.toml:2:5"));
  EXPECT_EQ(
      findings(
          "a = \"\"\"\n\xd2\x90 \"\" \\\" \"\"\"\nb = 'x\xd2\x90' # \xd2\x90\nc\xd2\x90 = 1\n"),
      fault("rolter.toml:4:2"));
  EXPECT_EQ(findings("a = \'\'\'\n\xd2\x90 \\\'\'\'\n\xd2\x90 = 1\n"), fault("rolter.toml:3:1"));
  const std::string marked = "\xEF\xBB\xBF" + kSmall + "# \xd2\x90\n";
  EXPECT_EQ(findings(marked), findings(kSmall));
}

TEST(Document, a_fault_is_one_line_whatever_the_parser_quotes) {
  const std::vector<std::string> lines = findings("a = t\nb = 1\n");
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].find('\n'), std::string::npos) << lines[0];
}

TEST(Document, a_key_that_nests_too_deep_is_refused_before_it_is_built) {
  std::string key = "a";
  for (int i = 0; i < 100'000; ++i) {
    key += ".a";
  }
  EXPECT_EQ(findings("[server]\n" + key + " = 1\n"),
            std::vector<std::string>{
                "rolter.toml:2:1: error: more than 200 dots in a row; shorten the key"});
}

TEST(Document, arrays_that_nest_too_deep_are_refused) {
  EXPECT_EQ(findings("a = " + std::string(100'000, '[')).size(), 1U);
}

TEST(Document, many_addresses_in_one_list_are_no_long_key) {
  std::string list = "[egress]\nallow_hosts = [\"10.0.0.1\"";
  for (int i = 0; i < 200; ++i) {
    list += ", \"10.0.0.1\"";
  }
  EXPECT_TRUE(load(kSmall + list + "]\n").config);
}

TEST(Document, a_path_leads_to_its_place_or_the_nearest_one) {
  const auto root = parse_document("[[a]]\nb = 1\n[[a]]\nc = { d = [5, 6] }\n");
  ASSERT_TRUE(root);
  EXPECT_EQ(locate(*root, "a[0].b"), (Position{2, 5}));
  EXPECT_EQ(locate(*root, "a[1].c.d[1]"), (Position{4, 15}));
  EXPECT_EQ(locate(*root, "a[1].zzz"), (Position{3, 1}));
  EXPECT_EQ(locate(*root, "a[7]"), locate(*root, "a"));
  EXPECT_EQ(locate(*root, "zzz.a"), (Position{1, 1}));
}

TEST(Document, line_ends_and_byte_order_mark_of_windows_are_accepted) {
  std::string text = "\xef\xbb\xbf" + kSmall;
  for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 2)) {
    text.insert(at, "\r");
  }
  EXPECT_TRUE(load(text).config);
}

}  // namespace
}  // namespace rolter::config
