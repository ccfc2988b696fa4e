#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace rolter::openai {

/// XXH3, 64 bits. Only for comparing within this process.
[[nodiscard]] inline std::uint64_t hash_bytes(std::string_view bytes, std::uint64_t seed = 0) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

/// The same, fed piece by piece; value() equals hash_bytes() of the whole. Small pieces are
/// gathered first: feeding XXH3 a few bytes costs as much as a few hundred.
class HashStream {
 public:
  HashStream() { XXH3_64bits_reset(&state_); }

  void add(std::string_view bytes) {
    if (bytes.size() > kGathered - gathered_) {
      flush();
    }
    if (bytes.size() > kGathered) {
      XXH3_64bits_update(&state_, bytes.data(), bytes.size());
      return;
    }
    std::memcpy(buffer_ + gathered_, bytes.data(), bytes.size());
    gathered_ += bytes.size();
  }

  [[nodiscard]] std::uint64_t value() {
    flush();
    return XXH3_64bits_digest(&state_);
  }

 private:
  static constexpr std::size_t kGathered = 512;

  void flush() {
    XXH3_64bits_update(&state_, buffer_, gathered_);
    gathered_ = 0;
  }

  XXH3_state_t state_;
  std::size_t gathered_ = 0;
  char buffer_[kGathered];
};

}  // namespace rolter::openai
