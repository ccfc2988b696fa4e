#include "rolter/http/input_buffer.h"

#include <gtest/gtest.h>

#include <string>

namespace rolter::http {
namespace {

TEST(InputBuffer, keeps_readable_bytes_through_growth_and_shrinking) {
  InputBuffer buffer;
  buffer.append(std::string(100, 'a') + "bc");
  buffer.consume(100);
  buffer.reserve(100'000);
  EXPECT_GE(buffer.writable().size(), 100'000u - 2);
  EXPECT_EQ(buffer.readable(), "bc");
  buffer.shrink();
  EXPECT_EQ(buffer.capacity(), InputBuffer::kIdleBytes);
  EXPECT_EQ(buffer.readable(), "bc");
  buffer.consume(2);
  buffer.release();
  EXPECT_EQ(buffer.capacity(), 0u);
}

TEST(InputBuffer, erase_closes_the_gap) {
  InputBuffer buffer;
  buffer.append("head5\r\nhello");
  buffer.erase(4, 3);
  EXPECT_EQ(buffer.readable(), "headhello");
}

}  // namespace
}  // namespace rolter::http
