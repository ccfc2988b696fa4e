#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>

namespace rolter::balance {

/// How many bytes of a route's prompts make a token, by what the engines have counted: older
/// prompts count less and less. 4 until something is known, as in English. Any thread.
class TokenSize {
 public:
  /// A prompt of so much text had so many tokens.
  void observe(std::size_t text_bytes, std::uint64_t tokens);

  [[nodiscard]] double bytes() const;

 private:
  mutable std::mutex mutex_;
  double bytes_ = 0.0;
  double tokens_ = 0.0;
};

}  // namespace rolter::balance
