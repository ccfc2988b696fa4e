#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>

namespace rolter::http {

inline constexpr std::string_view kChunkEnd = "\r\n";
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

/// The line before a chunk's data (RFC 9112, section 7.1). An empty chunk is the last one: not
/// here.
class ChunkSize {
 public:
  explicit ChunkSize(std::size_t bytes) {
    char* end = std::to_chars(line_.data(), line_.data() + line_.size() - 2, bytes, 16).ptr;
    *end++ = '\r';
    *end++ = '\n';
    size_ = static_cast<std::size_t>(end - line_.data());
  }
  [[nodiscard]] std::string_view line() const { return {line_.data(), size_}; }

 private:
  std::array<char, 18> line_;
  std::size_t size_ = 0;
};

inline void append_chunk(std::string& out, std::string_view data) {
  out.append(ChunkSize(data.size()).line()).append(data).append(kChunkEnd);
}

}  // namespace rolter::http
