#pragma once

#include <string>
#include <vector>

namespace rolter::simulator {

/// An answer of a real vLLM 0.32.0 (tests/data/vllm-0.32/http).
struct RecordedAnswer {
  int status = 0;
  std::string head;
  std::string body;
};

[[nodiscard]] RecordedAnswer load_answer(const std::string& name);

/// The shape of a JSON text: every member's path and type in order ("usage.prompt_tokens number"),
/// with the elements of an array taken as one.
[[nodiscard]] std::vector<std::string> shape_of(const std::string& json);

/// The shape of each server-sent event, its name first; equal neighbours counted once.
[[nodiscard]] std::vector<std::vector<std::string>> shape_of_events(const std::string& body);

}  // namespace rolter::simulator
