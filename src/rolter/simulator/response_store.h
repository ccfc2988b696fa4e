#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "rolter/simulator/chat_template.h"

namespace rolter::simulator {

/// The conversations behind the newest /v1/responses answers, so that previous_response_id can go
/// on with them. They live in this engine alone, as in vLLM.
class ResponseStore {
 public:
  explicit ResponseStore(std::size_t capacity) : capacity_(capacity) {}

  void put(const std::string& id, std::vector<Turn> turns);

  /// nullptr when unknown or forgotten.
  [[nodiscard]] const std::vector<Turn>* find(const std::string& id) const;

 private:
  std::size_t capacity_;
  absl::flat_hash_map<std::string, std::vector<Turn>> turns_;
  std::deque<std::string> oldest_first_;
};

}  // namespace rolter::simulator
