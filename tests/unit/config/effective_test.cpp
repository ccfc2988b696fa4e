#include "rolter/config/effective.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "rolter/config/catalog.h"
#include "rolter/config/names.h"
#include "tests/unit/config/loading.h"

namespace rolter::config {
namespace {

using testing::ElementsAre;

constexpr std::array<std::string_view, 3> kPatterns = {"queue", "routes[].fallback",
                                                       "routes[].strategy=pipeline"};

std::vector<std::string> warnings(std::string_view text) {
  const auto document = parse_document(text);
  Findings found;
  warn_without_effect(*document, kPatterns, found);
  std::vector<std::string> lines;
  for (const Finding& finding : found.take_sorted()) {
    lines.push_back(format_finding("rolter.toml", finding));
  }
  return lines;
}

TEST(Effective, a_table_without_effect_is_named_once) {
  EXPECT_THAT(warnings("[retry]\nbudget = 0\n[queue]\ncapacity = 1\ntimeout_secs = 1\n"),
              ElementsAre("rolter.toml:3:1: warning: queue: accepted, but without effect in this "
                          "version"));
}

TEST(Effective, keys_and_words_without_effect_are_named_with_their_place) {
  EXPECT_THAT(
      warnings("[[routes]]\nstrategy = \"random\"\n"
               "[[routes]]\nstrategy = \"pipeline\"\nfallback = \"a\"\n"),
      ElementsAre("rolter.toml:4:12: warning: routes[1].strategy: \"pipeline\" is accepted, "
                  "but without effect in this version",
                  "rolter.toml:5:12: warning: routes[1].fallback: accepted, but without "
                  "effect in this version"));
}

TEST(Effective, a_plain_route_is_in_effect) {
  EXPECT_THAT(findings(kSmall), testing::IsEmpty());
}

bool names_something(std::string_view pattern) {
  if (const std::size_t equals = pattern.find('='); equals != std::string_view::npos) {
    return pattern.substr(0, equals) == "routes[].strategy" &&
           strategy_named(pattern.substr(equals + 1)).has_value();
  }
  return std::ranges::any_of(accepted_keys(), [pattern](const KeyInfo& key) {
    return key.path == pattern || key.path.starts_with(std::string(pattern) + ".") ||
           key.path.starts_with(std::string(pattern) + "[].");
  });
}

TEST(Effective, every_pattern_of_the_table_names_something_the_loader_accepts) {
  for (const std::string_view pattern : not_yet_effective()) {
    EXPECT_TRUE(names_something(pattern)) << pattern;
  }
}

}  // namespace
}  // namespace rolter::config
