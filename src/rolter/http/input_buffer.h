#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

namespace rolter::http {

/// Bytes that have been read and not yet been used. Grows only when told to, and gives its memory
/// back when told to, so that an idle connection holds little.
class InputBuffer {
 public:
  static constexpr std::size_t kIdleBytes = 4'096;

  [[nodiscard]] std::string_view readable() const { return {data_.get() + begin_, end_ - begin_}; }
  [[nodiscard]] std::span<char> readable_span() { return {data_.get() + begin_, end_ - begin_}; }
  [[nodiscard]] bool empty() const { return begin_ == end_; }

  /// Room after the readable bytes. May be empty until reserve() is called.
  [[nodiscard]] std::span<char> writable() { return {data_.get() + end_, capacity_ - end_}; }
  void commit(std::size_t bytes) { end_ += bytes; }
  void append(std::string_view bytes);

  /// Drops leading readable bytes. An emptied buffer starts at its front again.
  void consume(std::size_t bytes);

  /// Removes `length` readable bytes at `offset`, moving up what follows.
  void erase(std::size_t offset, std::size_t length);

  /// Makes room for `bytes` readable ones in all (those there are included), at most doubling the
  /// allocation beyond that. Views into the buffer are invalid afterwards; see Fields::rebase.
  void reserve(std::size_t bytes);

  /// Gives back what is more than kIdleBytes, keeping the readable bytes.
  void shrink();

  /// Gives back everything; the readable bytes must have been consumed or are not wanted.
  void release();

  [[nodiscard]] std::size_t capacity() const { return capacity_; }

 private:
  void reallocate(std::size_t capacity);

  std::unique_ptr<char[]> data_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace rolter::http
