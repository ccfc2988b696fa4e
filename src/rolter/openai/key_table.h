#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace rolter::openai {

/// A fixed set of words, each with a value, looked up with one hash and one comparison. The hash is
/// found at compile time: a set without a perfect one does not compile.
template <typename Value, std::size_t kWords>
class KeyTable {
 public:
  using value_type = Value;
  using Entry = std::pair<std::string_view, Value>;

  consteval explicit KeyTable(const std::array<Entry, kWords>& entries) : entries_(entries) {
    while (!fill_slots()) {
      multiplier_ += 0x9E3779B97F4A7C16;  // even: it stays odd
    }
  }

  [[nodiscard]] constexpr std::optional<Value> find(std::string_view word) const {
    if (word.empty()) {
      return std::nullopt;
    }
    const std::uint8_t entry = slots_[slot(word)];
    if (entry == kFree || entries_[entry].first != word) {
      return std::nullopt;
    }
    return entries_[entry].second;
  }

 private:
  static constexpr std::size_t kSlotBits = 8;
  static constexpr std::uint8_t kFree = 255;
  static_assert(kWords < kFree);

  [[nodiscard]] constexpr std::size_t slot(std::string_view word) const {
    const auto at = [word](std::size_t i) {
      return static_cast<std::uint64_t>(static_cast<unsigned char>(word[i]));
    };
    const std::uint64_t mixed = at(0) | at(word.size() / 4) << 8 | at(word.size() / 2) << 16 |
                                at(word.size() - 1) << 24 | std::uint64_t{word.size()} << 32;
    return mixed * multiplier_ >> (64 - kSlotBits);
  }

  constexpr bool fill_slots() {
    slots_.fill(kFree);
    for (std::size_t i = 0; i < kWords; ++i) {
      std::uint8_t& place = slots_[slot(entries_[i].first)];
      if (place != kFree) {
        return false;
      }
      place = static_cast<std::uint8_t>(i);
    }
    return true;
  }

  std::array<Entry, kWords> entries_;
  std::array<std::uint8_t, 1U << kSlotBits> slots_{};
  std::uint64_t multiplier_ = 0x9E3779B97F4A7C15;
};

template <typename Value, std::size_t kWords>
KeyTable(const std::array<std::pair<std::string_view, Value>, kWords>&) -> KeyTable<Value, kWords>;

}  // namespace rolter::openai
