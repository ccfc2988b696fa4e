#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "rolter/base/ascii.h"

namespace rolter::proxy {

/// Writes one field line of a head.
inline void append_field(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(": ").append(value).append("\r\n");
}

inline void append_field(std::string& out, std::string_view name, std::uint64_t value) {
  out.append(name).append(": ");
  append_decimal(out, value);
  out.append("\r\n");
}

}  // namespace rolter::proxy
