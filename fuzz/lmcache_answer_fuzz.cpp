// What an LMCache server, or something else that listens there, may answer; the first byte chooses
// the form.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "rolter/feeds/lmcache_answer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using rolter::config::LmcacheFormat;
  if (size == 0) {
    return 0;
  }
  const auto format = static_cast<LmcacheFormat>(data[0] % 3);
  const std::string_view body{reinterpret_cast<const char*>(data) + 1, size - 1};
  const auto reading = rolter::feeds::read_lmcache_answer(format, body);
  if (reading && !(reading->occupancy >= 0.0 && reading->occupancy <= 1.0)) {
    std::abort();
  }
  return 0;
}
