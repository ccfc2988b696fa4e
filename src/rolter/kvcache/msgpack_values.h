#pragma once

#include <msgpuck.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace rolter::kvcache {

// Values of a MessagePack object that is_one_msgpack_object() has passed: nothing here checks
// bounds. A null value is one that is absent.

/// Reads a number >= 0 and moves past it; some encoders write those with a signed type.
inline std::optional<std::uint64_t> next_unsigned(const char** value) {
  switch (mp_typeof(**value)) {
    case MP_UINT:
      return mp_decode_uint(value);
    case MP_INT: {
      const std::int64_t number = mp_decode_int(value);
      return number >= 0 ? std::optional(static_cast<std::uint64_t>(number)) : std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

inline std::optional<std::uint64_t> as_unsigned(const char* value) {
  return value == nullptr ? std::nullopt : next_unsigned(&value);
}

inline std::optional<std::uint32_t> as_u32(const char* value) {
  const auto number = as_unsigned(value);
  if (!number || *number > std::numeric_limits<std::uint32_t>::max()) {
    return std::nullopt;
  }
  return static_cast<std::uint32_t>(*number);
}

/// "" when the value is no text.
inline std::string_view as_text(const char* value) {
  if (value == nullptr || mp_typeof(*value) != MP_STR) {
    return {};
  }
  std::uint32_t length = 0;
  const char* text = mp_decode_str(&value, &length);
  return {text, length};
}

inline double as_seconds(const char* value) {
  switch (mp_typeof(*value)) {
    case MP_DOUBLE:
      return mp_decode_double(&value);
    case MP_FLOAT:
      return static_cast<double>(mp_decode_float(&value));
    case MP_UINT:
      return static_cast<double>(mp_decode_uint(&value));
    default:
      return 0.0;
  }
}

}  // namespace rolter::kvcache
