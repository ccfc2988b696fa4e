#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace rolter::fakes {

/// MessagePack values as bytes, put together by hand: tests need encodings that a library would not
/// produce.
using Packed = std::string;

inline Packed big_endian(std::uint64_t value, int bytes) {
  Packed out;
  for (int i = bytes - 1; i >= 0; --i) {
    out.push_back(static_cast<char>(value >> (8 * i)));
  }
  return out;
}

inline Packed nil() {
  return "\xc0";
}
inline Packed number(std::uint64_t value) {
  return value < 0x80 ? Packed(1, static_cast<char>(value)) : "\xcf" + big_endian(value, 8);
}
inline Packed negative(std::int64_t value) {
  return "\xd3" + big_endian(static_cast<std::uint64_t>(value), 8);
}
inline Packed real(std::uint64_t ieee_bits) {
  return "\xcb" + big_endian(ieee_bits, 8);
}
inline Packed text(std::string_view value) {
  return "\xda" + big_endian(value.size(), 2) + Packed(value);
}
inline Packed binary(std::string_view value) {
  return "\xc5" + big_endian(value.size(), 2) + Packed(value);
}
inline Packed array(const std::vector<Packed>& items) {
  Packed out = "\xdd" + big_endian(items.size(), 4);
  for (const Packed& item : items) {
    out += item;
  }
  return out;
}
inline Packed map(const std::vector<std::pair<std::string_view, Packed>>& fields) {
  Packed out = "\xdf" + big_endian(fields.size(), 4);
  for (const auto& [key, value] : fields) {
    out += text(key) + value;
  }
  return out;
}
inline Packed numbers(const std::vector<std::uint64_t>& values) {
  std::vector<Packed> items;
  for (const std::uint64_t value : values) {
    items.push_back(number(value));
  }
  return array(items);
}

/// [ts, events, rank], ts = 1764478800.5.
inline Packed batch(const std::vector<Packed>& events, std::uint64_t rank = 0) {
  return array({real(0x41da4af3d4200000ULL), array(events), number(rank)});
}

}  // namespace rolter::fakes
