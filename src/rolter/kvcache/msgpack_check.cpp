#include "rolter/kvcache/msgpack_check.h"

#include <array>
#include <cstdint>
#include <limits>

namespace rolter::kvcache {
namespace {

/// What follows a head byte: `fixed` bytes, then a big-endian length of `length_width` bytes that
/// counts either bytes or (with children_per_unit) objects, and `children` objects.
struct Shape {
  std::uint8_t fixed = 0;
  std::uint8_t length_width = 0;
  std::uint8_t children_per_unit = 0;
  std::uint8_t children = 0;
  bool valid = true;
};

constexpr std::array<Shape, 256> make_shapes() {
  std::array<Shape, 256> shapes{};  // positive and negative fixint, nil, false, true
  for (unsigned n = 0; n < 16; ++n) {
    shapes[0x80 + n].children = static_cast<std::uint8_t>(2 * n);
    shapes[0x90 + n].children = static_cast<std::uint8_t>(n);
  }
  for (unsigned n = 0; n < 32; ++n) {
    shapes[0xa0 + n].fixed = static_cast<std::uint8_t>(n);
  }
  shapes[0xc1].valid = false;
  constexpr std::array<std::uint8_t, 3> kWidths{1, 2, 4};
  for (unsigned i = 0; i < 3; ++i) {
    shapes[0xc4 + i].length_width = kWidths[i];                   // bin
    shapes[0xc7 + i] = {.fixed = 1, .length_width = kWidths[i]};  // ext
    shapes[0xd9 + i].length_width = kWidths[i];                   // str
  }
  for (unsigned i = 0; i < 2; ++i) {
    const auto width = kWidths[i + 1];
    shapes[0xdc + i] = {.length_width = width, .children_per_unit = 1};  // array
    shapes[0xde + i] = {.length_width = width, .children_per_unit = 2};  // map
  }
  shapes[0xca].fixed = 4;
  shapes[0xcb].fixed = 8;
  for (unsigned i = 0; i < 4; ++i) {
    shapes[0xcc + i].fixed = static_cast<std::uint8_t>(1U << i);  // uint
    shapes[0xd0 + i].fixed = static_cast<std::uint8_t>(1U << i);  // int
  }
  for (unsigned i = 0; i < 5; ++i) {
    shapes[0xd4 + i].fixed = static_cast<std::uint8_t>(1 + (1U << i));  // fixext
  }
  return shapes;
}

constexpr std::array<Shape, 256> kShapes = make_shapes();

}  // namespace

bool is_one_msgpack_object(std::span<const std::byte> bytes) {
  if (bytes.size() > std::numeric_limits<std::int32_t>::max()) {
    return false;  // msgpuck's mp_next counts in an int
  }
  std::size_t position = 0;
  std::uint64_t pending = 1;
  while (pending > 0) {
    if (pending > bytes.size() - position) {
      return false;  // each object takes a byte at least
    }
    --pending;
    const Shape& shape = kShapes[std::to_integer<std::size_t>(bytes[position++])];
    std::uint64_t skip = shape.fixed;
    if (shape.length_width > 0) {
      if (shape.length_width > bytes.size() - position) {
        return false;
      }
      std::uint64_t length = 0;
      for (unsigned i = 0; i < shape.length_width; ++i) {
        length = (length << 8) | std::to_integer<std::uint64_t>(bytes[position++]);
      }
      pending += length * shape.children_per_unit;
      skip += shape.children_per_unit == 0 ? length : 0;
    }
    pending += shape.children;
    if (!shape.valid || skip > bytes.size() - position) {
      return false;
    }
    position += skip;
  }
  return position == bytes.size();
}

}  // namespace rolter::kvcache
