#include "rolter/http/chunked.h"

#include <algorithm>

namespace rolter::http {
namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

bool is_forbidden_in_line(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\t') || byte == 0x7f;
}

/// tchar of RFC 9110, section 5.6.2.
bool is_token_char(char c) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  const char lower = static_cast<char>(c | 0x20);
  return (c >= '0' && c <= '9') || (lower >= 'a' && lower <= 'z') ||
         kMarks.find(c) != std::string_view::npos;
}

}  // namespace

Result<ChunkScanner::Step> ChunkScanner::next(std::string_view input) {
  if (state_ == State::kData) {
    const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(left_, input.size()));
    left_ -= length;
    if (left_ == 0) {
      state_ = State::kDataCr;
    }
    return Step{length, input.substr(0, length)};
  }
  std::size_t consumed = 0;
  while (consumed < input.size() && state_ != State::kData && state_ != State::kDone) {
    if (!accept(input[consumed])) {
      return fail(ErrorKind::kProtocol, "malformed chunked body");
    }
    ++consumed;
  }
  return Step{consumed, {}};
}

bool ChunkScanner::accept_size(char c) {
  const int digit = hex_value(c);
  if (digit >= 0) {
    if (++digits_ > 15) {
      return false;
    }
    left_ = left_ * 16 + static_cast<std::uint64_t>(digit);
    return true;
  }
  if (digits_ == 0) {
    return false;
  }
  if (c == '\r') {
    state_ = State::kSizeLf;
    return true;
  }
  // Old senders pad the size with blanks.
  state_ = c == ';' ? State::kExtension : State::kBlanks;
  return c == ';' || c == ' ' || c == '\t';
}

bool ChunkScanner::accept(char c) {
  switch (state_) {
    case State::kSize:
      return accept_size(c);
    case State::kBlanks:
      if (c == '\r') {
        state_ = State::kSizeLf;
        return true;
      }
      return (c == ' ' || c == '\t') && ++extra_bytes_ <= kMaxExtraBytes;
    case State::kExtension:
    case State::kTrailer:
      if (c == '\r') {
        state_ = state_ == State::kExtension ? State::kSizeLf : State::kTrailerLf;
        return true;
      }
      return !is_forbidden_in_line(c) && ++extra_bytes_ <= kMaxExtraBytes;
    case State::kSizeLf:
      state_ = left_ > 0 ? State::kData : State::kTrailerStart;
      digits_ = 0;
      return c == '\n';
    case State::kDataCr:
      state_ = State::kDataLf;
      return c == '\r';
    case State::kDataLf:
      state_ = State::kSize;
      return c == '\n';
    case State::kTrailerStart:
      state_ = c == '\r' ? State::kEndLf : State::kTrailerName;
      return c == '\r' || is_token_char(c);
    case State::kTrailerName:
      if (c == ':') {
        state_ = State::kTrailer;
        return true;
      }
      return is_token_char(c) && ++extra_bytes_ <= kMaxExtraBytes;
    case State::kTrailerLf:
      state_ = State::kTrailerStart;
      return c == '\n';
    case State::kEndLf:
      state_ = State::kDone;
      return c == '\n';
    case State::kData:
    case State::kDone:
      return false;
  }
  return false;
}

}  // namespace rolter::http
