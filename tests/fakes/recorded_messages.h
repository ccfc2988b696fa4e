#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace rolter::fakes {

/// One line of a recording of a real engine (tests/data): a ZMQ message as it was received, or what
/// the one who recorded did at that moment.
struct RecordedLine {
  std::vector<std::string> frames;  // raw bytes; empty for a note
  std::string note;                 // "note" or "mon"
  std::string label;                // of a request
  std::vector<int> response;        // HTTP status, prompt, cached and completion tokens
};

/// The lines of tests/data/<name>. Throws when the file cannot be read.
[[nodiscard]] std::vector<RecordedLine> load_recorded_lines(const std::string& name);

/// Only the messages.
[[nodiscard]] std::vector<RecordedLine> load_recorded_messages(const std::string& name);

[[nodiscard]] std::string from_hex(std::string_view hex);

inline std::span<const std::byte> as_payload(std::string_view bytes) {
  return std::as_bytes(std::span(bytes.data(), bytes.size()));
}

}  // namespace rolter::fakes
