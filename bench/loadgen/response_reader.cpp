#include "bench/loadgen/response_reader.h"

#include <strings.h>

#include <algorithm>
#include <charconv>

namespace rolter::loadgen {
namespace {

/// The value of a header field, "" when absent. `name` includes its colon.
std::string_view field(std::string_view head, std::string_view name) {
  for (std::size_t at = head.find('\n'); at != std::string_view::npos; at = head.find('\n', at)) {
    ++at;
    if (head.size() - at > name.size() &&
        strncasecmp(head.data() + at, name.data(), name.size()) == 0) {
      std::string_view value = head.substr(at + name.size());
      value = value.substr(0, value.find('\r'));
      value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
      return value;
    }
  }
  return {};
}

}  // namespace

bool ResponseReader::is_right() const {
  return state_ == State::kComplete && status_ == 200 && !differs_ &&
         body_bytes_ == expected_.size();
}

void ResponseReader::restart() {
  state_ = State::kHead;
  head_.clear();
  line_.clear();
  status_ = 0;
  chunked_ = closes_ = differs_ = false;
  chunk_ = Chunk::kSize;
  left_ = body_bytes_ = 0;
}

ResponseReader::State ResponseReader::feed(std::string_view bytes) {
  if (state_ == State::kHead) {
    state_ = read_head(bytes);
  } else if (state_ == State::kBody) {
    state_ = chunked_ ? read_chunks(bytes) : read_length(bytes);
  }
  return state_;
}

ResponseReader::State ResponseReader::read_head(std::string_view bytes) {
  head_ += bytes;
  const std::size_t end = head_.find("\r\n\r\n");
  if (end == std::string::npos) {
    return State::kHead;
  }
  const std::string_view head = std::string_view(head_).substr(0, end + 2);
  if (head.size() < 12 || !head.starts_with("HTTP/1.")) {
    return State::kMalformed;
  }
  std::from_chars(head.data() + 9, head.data() + 12, status_);
  chunked_ = field(head, "transfer-encoding:") == "chunked";
  closes_ = field(head, "connection:") == "close";
  const std::string_view length = field(head, "content-length:");
  std::from_chars(length.data(), length.data() + length.size(), left_);
  if (!chunked_ && length.empty()) {
    return State::kMalformed;  // ends with the connection: nothing measured here does that
  }
  const std::string rest = head_.substr(end + 4);
  return chunked_ ? read_chunks(rest) : read_length(rest);
}

ResponseReader::State ResponseReader::read_length(std::string_view bytes) {
  if (bytes.size() > left_) {
    return State::kMalformed;
  }
  take_body(bytes);
  left_ -= bytes.size();
  return left_ == 0 ? State::kComplete : State::kBody;
}

ResponseReader::State ResponseReader::read_chunks(std::string_view bytes) {
  while (!bytes.empty()) {
    if (chunk_ == Chunk::kData) {
      const std::string_view data = bytes.substr(0, left_);
      take_body(data);
      left_ -= data.size();
      bytes.remove_prefix(data.size());
      chunk_ = left_ == 0 ? Chunk::kDataEnd : Chunk::kData;
      continue;
    }
    const std::size_t end = bytes.find('\n');
    line_ += bytes.substr(0, end);
    if (end == std::string_view::npos) {
      break;
    }
    bytes.remove_prefix(end + 1);
    if (chunk_ == Chunk::kTrailer) {
      return State::kComplete;
    }
    if (chunk_ == Chunk::kSize) {
      if (std::from_chars(line_.data(), line_.data() + line_.size(), left_, 16).ec != std::errc{}) {
        return State::kMalformed;
      }
      chunk_ = left_ == 0 ? Chunk::kTrailer : Chunk::kData;
    } else {
      chunk_ = Chunk::kSize;
    }
    line_.clear();
  }
  return State::kBody;
}

void ResponseReader::take_body(std::string_view bytes) {
  differs_ =
      differs_ || expected_.substr(std::min(body_bytes_, expected_.size()), bytes.size()) != bytes;
  body_bytes_ += bytes.size();
}

}  // namespace rolter::loadgen
