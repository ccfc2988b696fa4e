#pragma once

#include <string_view>

namespace rolter::kvcache {

/// Where in the payload an event's values begin; null = absent or nil.
struct KvEventFields {
  std::string_view type;
  const char* hashes = nullptr;
  const char* parent = nullptr;
  const char* tokens = nullptr;
  const char* block_size = nullptr;
  const char* lora_id = nullptr;
  const char* medium = nullptr;
  const char* lora_name = nullptr;
  const char* extra_keys = nullptr;
  const char* group = nullptr;
  const char* kind = nullptr;
  const char* locality = nullptr;
  const char* session = nullptr;
  const char* salt = nullptr;

  using Member = const char* KvEventFields::*;

  /// Finds the values of a map or a positional array and moves past it; false when it is neither,
  /// or has no tag.
  [[nodiscard]] bool read(const char** event);

 private:
  bool read_map(const char** event);
  bool read_array(const char** event);
};

}  // namespace rolter::kvcache
