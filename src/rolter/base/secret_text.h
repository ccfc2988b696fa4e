#pragma once

#include <cstddef>
#include <string_view>

namespace rolter {

/// Whether a stranger's text is the secret one. The time taken depends on the lengths alone. An
/// empty secret equals nothing.
[[nodiscard]] inline bool equals_secret(std::string_view presented, std::string_view secret) {
  if (secret.empty()) {
    return false;
  }
  std::size_t difference = presented.size() ^ secret.size();
  for (std::size_t i = 0; i < presented.size(); ++i) {
    difference |= static_cast<unsigned char>(presented[i] ^ secret[i % secret.size()]);
  }
  return difference == 0;
}

}  // namespace rolter
