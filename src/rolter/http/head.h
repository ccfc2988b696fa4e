#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "rolter/base/ascii.h"

namespace rolter::http {

using rolter::iequals;

/// One field line. Views point into the connection's input buffer.
struct Field {
  std::string_view name;
  std::string_view value;  // without surrounding white space
};

/// The field lines of a message in the order in which they came, repeated ones included.
class Fields {
 public:
  void clear() { fields_.clear(); }
  void add(std::string_view name, std::string_view value) { fields_.push_back({name, value}); }

  /// The first field of that name; "" when there is none.
  [[nodiscard]] std::string_view get(std::string_view name) const;
  [[nodiscard]] bool has(std::string_view name) const;
  [[nodiscard]] std::size_t count(std::string_view name) const;

  /// Whether some line of that name lists `token` (comma separated, case-insensitive).
  [[nodiscard]] bool lists(std::string_view name, std::string_view token) const;

  [[nodiscard]] std::size_t size() const { return fields_.size(); }
  [[nodiscard]] auto begin() const { return fields_.begin(); }
  [[nodiscard]] auto end() const { return fields_.end(); }

  /// Moves every view by the distance between two buffers with the same content.
  void rebase(const char* from, const char* to);

 private:
  std::vector<Field> fields_;
};

/// The usual words of a status (RFC 9110, section 15), as far as this program sends it.
[[nodiscard]] std::string_view reason_phrase(int status);

/// How the end of a body is found (RFC 9112, section 6.3).
enum class Framing : std::uint8_t { kNone, kLength, kChunked, kUntilClose };

struct RequestHead {
  std::string_view method;
  std::string_view target;  // as sent: path and query, or absolute form
  int minor_version = 1;    // HTTP/1.x
  bool keep_alive = true;
  bool expects_continue = false;
  Framing framing = Framing::kNone;
  std::uint64_t content_length = 0;
  Fields fields;
};

struct ResponseHead {
  int status = 0;
  std::string_view reason;
  int minor_version = 1;
  bool keep_alive = true;
  Framing framing = Framing::kNone;
  std::uint64_t content_length = 0;
  Fields fields;
};

/// Which fields of a message describe the connection rather than the message and must not be passed
/// on (RFC 9110, section 7.6.1): the fixed set and whatever `Connection` names. The fields are
/// looked through once, not again for each of them. Refers to them.
class HopByHop {
 public:
  explicit HopByHop(const Fields& fields);
  [[nodiscard]] bool covers(std::string_view name) const;

 private:
  const Fields* named_ = nullptr;  // null: Connection names no field that is not covered anyway
};

}  // namespace rolter::http
