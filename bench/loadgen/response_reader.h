#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace rolter::loadgen {

/// Reads one HTTP/1.1 response at a time, as fast as a measurement needs, and compares its body
/// with the one that is due.
class ResponseReader {
 public:
  enum class State : std::uint8_t { kHead, kBody, kComplete, kMalformed };

  /// `expected` must outlive the reader.
  explicit ResponseReader(std::string_view expected) : expected_(expected) {}

  /// Forgets the last response.
  void restart();

  State feed(std::string_view bytes);

  /// Complete, 200, and byte for byte the expected body.
  [[nodiscard]] bool is_right() const;
  [[nodiscard]] int status() const { return status_; }
  [[nodiscard]] std::size_t body_bytes() const { return body_bytes_; }
  /// "Connection: close" was announced.
  [[nodiscard]] bool closes() const { return closes_; }

 private:
  enum class Chunk : std::uint8_t { kSize, kData, kDataEnd, kTrailer };

  State read_head(std::string_view bytes);
  State read_length(std::string_view bytes);
  State read_chunks(std::string_view bytes);
  void take_body(std::string_view bytes);

  std::string_view expected_;
  State state_ = State::kHead;
  std::string head_;
  int status_ = 0;
  bool chunked_ = false;
  bool closes_ = false;
  bool differs_ = false;
  std::size_t left_ = 0;  // of the body, or of the chunk
  Chunk chunk_ = Chunk::kSize;
  std::string line_;  // a chunk's size, or a trailer
  std::size_t body_bytes_ = 0;
};

}  // namespace rolter::loadgen
