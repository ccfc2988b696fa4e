#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace rolter::kvcache {

/// A session id of ours, as it goes to an engine: 16 hexadecimal digits. kNone: no header.
enum class SessionTag : std::uint64_t { kNone = 0 };

class TagText {
 public:
  explicit TagText(SessionTag tag) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    auto value = std::to_underlying(tag);
    for (std::size_t i = text_.size(); i-- > 0; value >>= 4) {
      text_[i] = kDigits[value & 15];
    }
  }
  [[nodiscard]] std::string_view view() const { return {text_.data(), text_.size()}; }

 private:
  std::array<char, 16> text_;
};

}  // namespace rolter::kvcache
