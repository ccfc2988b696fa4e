#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "rolter/base/ascii.h"

namespace rolter::proxy {

/// Writes one field line of a head.
inline void append_field(std::string& out, std::string_view name, std::string_view value) {
  const std::size_t before = out.size();
  const std::size_t whole = before + name.size() + value.size() + 4;
  // The string grows once a line, not once a part. libstdc++ 12 may call with more room than was
  // asked for.
  out.resize_and_overwrite(whole, [&](char* text, std::size_t) {
    char* at = text + before;
    at += name.copy(at, name.size());
    *at++ = ':';
    *at++ = ' ';
    at += value.copy(at, value.size());
    *at++ = '\r';
    *at++ = '\n';
    return whole;
  });
}

inline void append_field(std::string& out, std::string_view name, std::uint64_t value) {
  out.append(name).append(": ");
  append_decimal(out, value);
  out.append("\r\n");
}

}  // namespace rolter::proxy
