#include "rolter/http/chunked.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace rolter::http {
namespace {

struct Walk {
  bool ok = true;
  bool done = false;
  std::string data;
  std::size_t consumed = 0;
};

Walk walk(std::string_view input, std::size_t cut) {
  ChunkScanner scanner;
  Walk result;
  while (result.consumed < input.size() && !scanner.done()) {
    const auto step = scanner.next(input.substr(result.consumed, cut));
    if (!step) {
      result.ok = false;
      return result;
    }
    result.consumed += step->consumed;
    result.data.append(step->data);
  }
  result.done = scanner.done();
  return result;
}

TEST(ChunkScanner, gives_the_same_data_however_the_input_is_cut) {
  constexpr std::string_view kBody = "5;a=b\r\nhello\r\n1\r\n!\r\n0\r\nX-Sum: 1\r\n\r\nrest";
  for (std::size_t cut = 1; cut <= kBody.size(); ++cut) {
    const Walk result = walk(kBody, cut);
    EXPECT_TRUE(result.done) << cut;
    EXPECT_EQ(result.data, "hello!") << cut;
    EXPECT_EQ(kBody.substr(result.consumed), "rest") << cut;
  }
}

TEST(ChunkScanner, refuses_what_two_readers_could_read_differently) {
  for (const std::string_view body : {
           "5\nhello\r\n0\r\n\r\n",         // bare LF after the size
           "5;x\ny\r\nhello\r\n0\r\n\r\n",  // bare LF in an extension
           "5;x\ry\r\nhello\r\n0\r\n\r\n",  // bare CR in an extension
           "+5\r\nhello\r\n0\r\n\r\n",      // sign
           "0x5\r\nhello\r\n0\r\n\r\n",     // prefix
           "\r\nhello\r\n0\r\n\r\n",        // no size
           "5\r\nhelloX\r\n0\r\n\r\n",      // data longer than the size
           "5\r\nhello\n0\r\n\r\n",         // bare LF after the data
           "1111111111111111\r\nx",         // does not fit
           "0\r\nX: a\nb\r\n\r\n",          // bare LF in a trailer
           "5 ;x\r\nhello\r\n0\r\n\r\n",    // blank before an extension
           "0\r\nGET / HTTP/1.1\r\n\r\n",   // a trailer that is no field
           "0\r\nX: a\r\n b\r\n\r\n",       // a folded trailer
       }) {
    EXPECT_FALSE(walk(body, body.size()).ok) << body;
  }
}

TEST(ChunkScanner, bounds_extensions_and_trailers) {
  const std::string extension = "1;" + std::string(20'000, 'e') + "\r\nx\r\n0\r\n\r\n";
  EXPECT_FALSE(walk(extension, 100).ok);
  const std::string trailer = "0\r\nT: " + std::string(20'000, 't') + "\r\n\r\n";
  EXPECT_FALSE(walk(trailer, 100).ok);
}

}  // namespace
}  // namespace rolter::http
