#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rolter::loadgen {

/// How a stream is paced by fake_upstream, carried in the request's "seed" field.
struct Pace {
  std::uint64_t microseconds = 0;                      // between chunks; 0 = as fast as possible
  static constexpr std::uint64_t kIdle = 900'000'000;  // from here on: one chunk, then silence
};

struct RequestSetOptions {
  std::uint16_t port = 0;
  std::string model = "m";
  std::string key = "sk-x";  // bearer token; empty = none
  std::size_t body_bytes = 2400;
  std::size_t conversations = 64;
  bool stream = false;
  std::uint64_t max_tokens = 80;
  Pace pace;
};

/// Whole HTTP requests, one per conversation: a system prompt of 1,000 bytes that all share, then a
/// question of their own up to body_bytes.
[[nodiscard]] std::vector<std::string> make_requests(const RequestSetOptions& options);

}  // namespace rolter::loadgen
