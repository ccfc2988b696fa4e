#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "rolter/base/error.h"

namespace rolter::http {

/// Walks a chunked body (RFC 9112, section 7.1) that arrives cut anywhere, without copying it.
/// Strict: a size is hex digits only and fits 63 bits, lines end in CRLF, a bare CR or LF in an
/// extension or trailer is an error, and so is a trailer line that is no field, since two readers
/// could disagree about it. Extensions and
/// trailers are bounded together.
class ChunkScanner {
 public:
  struct Step {
    std::size_t consumed = 0;  // leading bytes of the input that were understood
    std::string_view data;     // body bytes among them, possibly empty
  };

  /// The next piece of `input`; call again with the rest until `consumed` is 0 or done().
  [[nodiscard]] Result<Step> next(std::string_view input);

  /// The last chunk and its trailer section have been passed.
  [[nodiscard]] bool done() const { return state_ == State::kDone; }

 private:
  enum class State : std::uint8_t {
    kSize,
    kBlanks,  // after a size
    kExtension,
    kSizeLf,
    kData,
    kDataCr,
    kDataLf,
    kTrailerStart,
    kTrailerName,
    kTrailer,
    kTrailerLf,
    kEndLf,
    kDone
  };
  static constexpr std::size_t kMaxExtraBytes = 16'384;

  [[nodiscard]] bool accept(char c);
  [[nodiscard]] bool accept_size(char c);

  State state_ = State::kSize;
  std::uint64_t left_ = 0;  // of the current chunk
  std::size_t digits_ = 0;
  std::size_t extra_bytes_ = 0;  // of all extensions and trailers
};

}  // namespace rolter::http
