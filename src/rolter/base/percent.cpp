#include "rolter/base/percent.h"

#include <charconv>
#include <cstddef>

namespace rolter {

std::string percent_decoded(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    unsigned byte = 0;
    const char* const digits = text.data() + at + 1;
    const bool coded = text[at] == '%' && text.size() - at > 2 &&
                       std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2;
    plain.push_back(coded ? static_cast<char>(byte) : text[at]);
    at += coded ? 2 : 0;
  }
  return plain;
}

}  // namespace rolter
