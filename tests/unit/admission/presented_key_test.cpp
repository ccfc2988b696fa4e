#include "rolter/admission/presented_key.h"

#include <gtest/gtest.h>

namespace rolter::admission {
namespace {

std::string from_authorization(std::string_view value) {
  PresentedKey presented;
  presented.see_authorization(value);
  const auto key = presented.get();
  return key ? std::string(*key) : "none";
}

TEST(PresentedKey, a_bearer_token_is_one) {
  EXPECT_EQ(from_authorization("Bearer sk-1"), "sk-1");
  EXPECT_EQ(from_authorization("bearer sk-1"), "sk-1");
  EXPECT_EQ(from_authorization("  BEARER \t sk-1 \t"), "sk-1");
}

TEST(PresentedKey, another_scheme_or_an_empty_token_is_none) {
  for (const char* value :
       {"", " ", "Bearer", "Bearer ", "Basic dTpw", "sk-1", "Bearersk-1", "Bearer: sk-1"}) {
    EXPECT_EQ(from_authorization(value), "none") << value;
  }
}

TEST(PresentedKey, an_api_key_field_is_one) {
  PresentedKey presented;
  presented.see_api_key(" sk-1 ");
  EXPECT_EQ(*presented.get(), "sk-1");
}

TEST(PresentedKey, without_a_field_there_is_none) {
  const auto key = PresentedKey().get();
  ASSERT_FALSE(key);
  EXPECT_EQ(key.error().kind, ErrorKind::kUnauthenticated);
  EXPECT_EQ(key.error().source, ErrorSource::kClient);
}

TEST(PresentedKey, the_same_key_twice_is_one_key) {
  PresentedKey presented;
  presented.see_authorization("Bearer sk-1");
  presented.see_api_key("sk-1");
  EXPECT_EQ(*presented.get(), "sk-1");
}

TEST(PresentedKey, two_different_keys_are_refused_in_either_order) {
  PresentedKey one;
  one.see_authorization("Bearer sk-1");
  one.see_api_key("sk-2");
  EXPECT_EQ(one.get().error().kind, ErrorKind::kUnauthenticated);

  PresentedKey other;
  other.see_api_key("sk-2");
  other.see_api_key("sk-1");
  other.see_api_key("sk-2");
  EXPECT_EQ(other.get().error().kind, ErrorKind::kUnauthenticated);
  EXPECT_EQ(other.get().error().message.find("sk-"), std::string::npos);
}

TEST(PresentedKey, a_proxys_basic_credentials_do_not_hide_the_key) {
  PresentedKey presented;
  presented.see_authorization("Basic dTpw");
  presented.see_api_key("sk-1");
  EXPECT_EQ(*presented.get(), "sk-1");
}

}  // namespace
}  // namespace rolter::admission
