#include "rolter/kvcache/msgpack_check.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tests/fakes/recorded_messages.h"

namespace rolter::kvcache {
namespace {

bool accepts(std::string_view hex) {
  return is_one_msgpack_object(fakes::as_payload(fakes::from_hex(hex)));
}

TEST(MsgpackCheck, accepts_every_kind_of_object) {
  for (const char* hex : {"00",
                          "7f",
                          "e0",
                          "ff",
                          "c0",
                          "c2",
                          "c3",
                          "cc01",
                          "cd0001",
                          "ce00000001",
                          "cf0000000000000001",
                          "d001",
                          "d10001",
                          "d200000001",
                          "d30000000000000001",
                          "ca00000000",
                          "cb0000000000000000",
                          "a0",
                          "a161",
                          "d90161",
                          "da000161",
                          "db0000000161",
                          "c40161",
                          "c5000161",
                          "c60000000161",
                          "90",
                          "9100",
                          "dc000100",
                          "dd0000000100",
                          "80",
                          "810000",
                          "de00010000",
                          "df000000010000",
                          "d40000",
                          "d5000000",
                          "d60000000000",
                          "d7000000000000000000",
                          "d80000000000000000000000000000000000",
                          "c7010061",
                          "c800010061",
                          "c9000000010061"}) {
    EXPECT_TRUE(accepts(hex)) << hex;
  }
}

TEST(MsgpackCheck, refuses_what_is_cut_short) {
  for (const char* hex :
       {"", "cc", "cd00", "cf00000000000000", "a2", "a261", "d9", "d90261", "c402", "91", "9200",
        "81", "8100", "dc", "dc0001", "de000100", "c70100", "d800"}) {
    EXPECT_FALSE(accepts(hex)) << hex;
  }
}

TEST(MsgpackCheck, refuses_counts_larger_than_the_bytes_that_follow) {
  EXPECT_FALSE(accepts("ddffffffff"));
  EXPECT_FALSE(accepts("dfffffffff"));
  EXPECT_FALSE(accepts("dbffffffff61"));
  EXPECT_FALSE(accepts("ddffffffffddffffffffddffffffff"));
}

TEST(MsgpackCheck, refuses_the_reserved_byte_and_what_follows_the_object) {
  EXPECT_FALSE(accepts("c1"));
  EXPECT_FALSE(accepts("91c1"));
  EXPECT_FALSE(accepts("0000"));
  EXPECT_FALSE(accepts("9000"));
}

TEST(MsgpackCheck, walks_deep_nesting_without_recursion) {
  std::string deep(1'000'000, '\x91');
  EXPECT_FALSE(is_one_msgpack_object(fakes::as_payload(deep)));
  deep.push_back('\x00');
  EXPECT_TRUE(is_one_msgpack_object(fakes::as_payload(deep)));
}

}  // namespace
}  // namespace rolter::kvcache
