#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "rolter/simulator/api_fault.h"

namespace simdjson::dom {
class element;
}

namespace rolter::simulator {

using JsonValue = simdjson::dom::element;

/// A parsed JSON request body and the memory its values live in.
class RequestBody {
 public:
  /// The body must be a JSON object. Lone surrogates become U+FFFD (Python, hence vLLM, takes
  /// them).
  [[nodiscard]] static Parsed<RequestBody> parse(std::string_view body);

  RequestBody(RequestBody&&) noexcept;
  RequestBody& operator=(RequestBody&&) noexcept;
  ~RequestBody();

  [[nodiscard]] const JsonValue& root() const;

 private:
  struct Impl;
  explicit RequestBody(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Members of an object, with the default when absent, null or of another type.
[[nodiscard]] bool has_member(const JsonValue& object, std::string_view key);
[[nodiscard]] std::string text_member(const JsonValue& object, std::string_view key);
[[nodiscard]] std::optional<std::int64_t> integer_member(const JsonValue& object,
                                                         std::string_view key);
[[nodiscard]] std::optional<double> number_member(const JsonValue& object, std::string_view key);
[[nodiscard]] bool flag_member(const JsonValue& object, std::string_view key);

/// A member as compact JSON; "" when absent or null.
[[nodiscard]] std::string json_member(const JsonValue& object, std::string_view key);

}  // namespace rolter::simulator
