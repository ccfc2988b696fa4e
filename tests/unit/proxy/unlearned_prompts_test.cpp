#include "rolter/proxy/unlearned_prompts.h"

#include <gtest/gtest.h>

#include <string>

namespace rolter::proxy {
namespace {

UnlearnedPrompt prompt(std::uint64_t ticket, std::size_t bytes = 10) {
  UnlearnedPrompt made;
  made.body.assign(bytes, 'x');
  made.ticket = ticket;
  return made;
}

TEST(UnlearnedPrompts, are_taken_in_their_order_and_rung_for) {
  UnlearnedPrompts waiting;
  int rings = 0;
  waiting.on_offer([&rings] { ++rings; });
  waiting.offer(prompt(1));
  waiting.offer(prompt(2));
  EXPECT_EQ(rings, 2);
  EXPECT_EQ(waiting.take()->ticket, 1U);
  EXPECT_EQ(waiting.take()->ticket, 2U);
  EXPECT_FALSE(waiting.take());
}

TEST(UnlearnedPrompts, are_refused_where_they_would_pass_a_bound) {
  UnlearnedPrompts many;
  many.on_offer([] {});
  for (std::size_t i = 0; i <= UnlearnedPrompts::kMostPrompts; ++i) {
    many.offer(prompt(i));
  }
  EXPECT_EQ(many.refused(), 1U);

  UnlearnedPrompts large;
  large.on_offer([] {});
  large.offer(prompt(1, UnlearnedPrompts::kMostBytes));
  large.offer(prompt(2, 1));
  EXPECT_EQ(large.refused(), 1U);
  EXPECT_EQ(large.take()->ticket, 1U);
  large.offer(prompt(3, 1));
  EXPECT_EQ(large.refused(), 1U) << "there is room again";
}

}  // namespace
}  // namespace rolter::proxy
