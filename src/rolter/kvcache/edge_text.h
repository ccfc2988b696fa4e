#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace rolter::kvcache {

/// The bytes along one edge of the tree, in an allocation of exactly their size. Up to 8 bytes lie
/// in the object itself: most inner edges of a large tree are that short, and each saves a cache
/// miss and 32 bytes of heap. 12 bytes, so that a node can use the padding.
class EdgeText {
 public:
  EdgeText() = default;
  explicit EdgeText(std::string_view text) : EdgeText(text, {}) {}
  /// `head` followed by `tail`.
  EdgeText(std::string_view head, std::string_view tail)
      : length_(static_cast<std::uint32_t>(head.size() + tail.size())) {
    char* to = store_.inside;
    if (length_ > kInside) {
      store_.heap = std::make_unique_for_overwrite<char[]>(length_).release();
      to = store_.heap;
    }
    copy(to, head);
    copy(to + head.size(), tail);
  }
  EdgeText(EdgeText&& other) noexcept { swap(other); }
  EdgeText& operator=(EdgeText&& other) noexcept {
    swap(other);
    return *this;
  }
  ~EdgeText() {
    if (length_ > kInside) {
      const std::unique_ptr<char[]> owner(store_.heap);
    }
  }

  [[nodiscard]] const char* data() const { return length_ > kInside ? store_.heap : store_.inside; }
  [[nodiscard]] std::uint32_t size() const { return length_; }
  [[nodiscard]] std::string_view view() const { return {data(), length_}; }

 private:
  static constexpr std::uint32_t kInside = 8;

  static void copy(char* to, std::string_view text) {
    if (!text.empty()) {  // memcpy from a null pointer is undefined even for 0 bytes
      std::memcpy(to, text.data(), text.size());
    }
  }

  void swap(EdgeText& other) noexcept {
    std::swap(store_, other.store_);
    std::swap(length_, other.length_);
  }

  union Store {
    char inside[kInside] = {};
    char* heap;
  };
  Store store_;
  std::uint32_t length_ = 0;
};

}  // namespace rolter::kvcache
