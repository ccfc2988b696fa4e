#include "rolter/base/percent.h"

#include <gtest/gtest.h>

namespace rolter {
namespace {

TEST(PercentDecoded, is_the_text_that_was_meant) {
  EXPECT_EQ(percent_decoded("org%2Fname%20a"), "org/name a");
  EXPECT_EQ(percent_decoded("%e4%BD%a0"), "\xE4\xBD\xA0");
}

TEST(PercentDecoded, a_percent_sign_without_two_digits_stands_for_itself) {
  for (const char* text : {"", "%", "100%", "%4", "%zz", "%-1", "%+1", "a%2"}) {
    EXPECT_EQ(percent_decoded(text), text);
  }
  EXPECT_EQ(percent_decoded("%%41"), "%A");
}

}  // namespace
}  // namespace rolter
