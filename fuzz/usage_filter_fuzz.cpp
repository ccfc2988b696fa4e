// Streams: the first byte says how the bytes are cut, the rest is the stream. However it is cut,
// the same is left of it, in order; and nothing is taken from one that says nothing of usage.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "rolter/openai/usage_filter.h"

namespace {

using rolter::openai::UsageFilter;

void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

std::string left_of(std::string_view bytes, std::uint32_t seed, std::size_t longest_piece) {
  UsageFilter filter;
  std::string out;
  while (!bytes.empty()) {
    seed = seed * 1664525 + 1013904223;
    const std::size_t size = std::min<std::size_t>(bytes.size(), 1 + (seed >> 16) % longest_piece);
    filter.feed(std::string(bytes.substr(0, size)), out);
    bytes.remove_prefix(size);
  }
  filter.finish(out);
  return out;
}

bool is_subsequence(std::string_view part, std::string_view whole) {
  for (const char byte : whole) {
    if (!part.empty() && part.front() == byte) {
      part.remove_prefix(1);
    }
  }
  return part.empty();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) {
    return 0;
  }
  const std::string_view stream(reinterpret_cast<const char*>(data + 1), size - 1);
  const std::string whole = left_of(stream, data[0], stream.size() + 1);
  require(whole == left_of(stream, data[0], 7));
  require(whole == left_of(stream, data[0], 1));
  require(is_subsequence(whole, stream));
  require(stream.find("\"usage\"") != std::string_view::npos || whole == stream);
  return 0;
}
