#include "rolter/config/environment.h"

#include <gtest/gtest.h>

namespace rolter::config {
namespace {

std::optional<std::string> look_around(const std::string& name) {
  if (name == "A") {
    return "alpha";
  }
  if (name == "EMPTY") {
    return "";
  }
  if (name == "DOLLAR") {
    return "$";
  }
  return std::nullopt;
}

TEST(Environment, references_are_replaced_wherever_they_stand) {
  EXPECT_EQ(expand("", look_around), "");
  EXPECT_EQ(expand("plain $A {A}", look_around), "plain $A {A}");
  EXPECT_EQ(expand("${A}", look_around), "alpha");
  EXPECT_EQ(expand("x${A}y${A}${EMPTY}", look_around), "xalphayalpha");
}

TEST(Environment, a_doubled_dollar_keeps_the_reference_literal) {
  EXPECT_EQ(expand("$${A}", look_around), "${A}");
  EXPECT_EQ(expand("a$${A}${A}", look_around), "a${A}alpha");
}

TEST(Environment, a_value_is_not_expanded_again) {
  EXPECT_EQ(expand("${DOLLAR}{A}", look_around), "${A}");
  EXPECT_EQ(expand("${DOLLAR}${A}", look_around), "$alpha");
}

TEST(Environment, a_faulty_reference_is_an_error) {
  EXPECT_EQ(expand("${B}", look_around).error(), "environment variable B is not set");
  EXPECT_EQ(expand("${A", look_around).error(), "\"${\" without \"}\"; write $${ for a literal ${");
  EXPECT_EQ(expand("${}", look_around).error(),
            "not the name of an environment variable (letters, digits and _)");
  EXPECT_EQ(expand("${1A}", look_around).error(),
            "not the name of an environment variable (letters, digits and _)");
}

TEST(Environment, without_one_nothing_is_set) {
  EXPECT_EQ(expand("${A}", Environment()).error(), "environment variable A is not set");
}

TEST(Environment, literals_and_references_are_told_apart) {
  EXPECT_TRUE(has_reference("${A}"));
  EXPECT_TRUE(has_reference("$${A}${B}"));
  EXPECT_FALSE(has_reference("$${A}"));
  EXPECT_FALSE(has_reference("$A"));
}

}  // namespace
}  // namespace rolter::config
