#include "rolter/config/suggest.h"

#include <gtest/gtest.h>

#include <array>

namespace rolter::config {
namespace {

constexpr std::array<std::string_view, 4> kWords = {"cache_aware", "random", "warn", "port"};

TEST(Suggest, one_slip_of_each_kind_is_near) {
  EXPECT_EQ(nearest("cache_awar", kWords), "cache_aware");    // missing
  EXPECT_EQ(nearest("cachee_aware", kWords), "cache_aware");  // surplus
  EXPECT_EQ(nearest("cache-aware", kWords), "cache_aware");   // wrong
  EXPECT_EQ(nearest("ramdom", kWords), "random");
  EXPECT_EQ(nearest("prot", kWords), "port");  // swapped
}

TEST(Suggest, a_beginning_is_near) {
  EXPECT_EQ(nearest("warning", kWords), "warn");
  EXPECT_EQ(nearest("cache", kWords), "cache_aware");
}

TEST(Suggest, the_closest_of_several_wins) {
  constexpr std::array<std::string_view, 3> words = {"base_secs", "max_secs", "open_secs"};
  EXPECT_EQ(nearest("mx_secs", words), "max_secs");
}

TEST(Suggest, a_different_word_is_not_near) {
  EXPECT_EQ(nearest("pipeline", kWords), "");
  EXPECT_EQ(nearest("", kWords), "");
  constexpr std::array<std::string_view, 2> letters = {"a", "b"};
  EXPECT_EQ(nearest("c", letters), "");
  EXPECT_EQ(nearest(std::string(10'000, 'p'), kWords), "");
  EXPECT_EQ(suggestion("pipeline", kWords, "; known:"), "; known: cache_aware, random, warn, port");
}

}  // namespace
}  // namespace rolter::config
