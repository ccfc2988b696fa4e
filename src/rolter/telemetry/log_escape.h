#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rolter::telemetry {

/// Longest text of one field in a log line, in bytes; the rest is cut and marked. Paths and ids
/// come from strangers.
inline constexpr std::size_t kMostFieldBytes = 512;

/// Appends `text` as a JSON string, with its quotes. Control characters (C0, DEL, C1) and the line
/// separators U+2028 and U+2029 are escaped, so that no value can end a line or drive a terminal;
/// bytes that are not UTF-8 become U+FFFD.
void append_json_string(std::string& out, std::string_view text,
                        std::size_t most_bytes = kMostFieldBytes);

/// Appends `text` as it is when it is one plain word, else as append_json_string does.
void append_text_value(std::string& out, std::string_view text,
                       std::size_t most_bytes = kMostFieldBytes);

}  // namespace rolter::telemetry
