#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace rolter::simulator {

/// An error as vLLM 0.32 answers it.
struct ApiFault {
  int status = 400;
  std::string type = "BadRequestError";
  std::string message;
  std::string param;  // "" = null
};

template <typename T>
using Parsed = std::expected<T, ApiFault>;

enum class FaultShape : std::uint8_t { kOpenAi, kAnthropic };

/// {"error":{"message","type","param","code"}}, or Anthropic's {"type":"error","error":{...}}.
[[nodiscard]] std::string fault_body(const ApiFault& fault, FaultShape shape);

[[nodiscard]] ApiFault bad_parameter(std::string_view name, std::string_view value,
                                     std::string_view complaint);
[[nodiscard]] ApiFault missing_field(std::string_view name);
[[nodiscard]] ApiFault invalid_field(std::string_view name, std::string_view complaint);
[[nodiscard]] ApiFault unknown_model(std::string_view model, std::string_view aliases);
[[nodiscard]] ApiFault engine_busy();
[[nodiscard]] ApiFault engine_dead();

}  // namespace rolter::simulator
