#include "rolter/simulator/embedding.h"

#include <absl/strings/ascii.h>
#include <absl/strings/escaping.h>
#include <xxhash.h>

#include <bit>
#include <cmath>
#include <cstdint>

#include "rolter/base/random.h"

namespace rolter::simulator {
namespace {

void add_direction(std::string_view word, std::vector<float>& sum) {
  Rng rng(XXH3_64bits(word.data(), word.size()));
  for (float& value : sum) {
    value += static_cast<float>(uniform_unit(rng) * 2.0 - 1.0);
  }
}

}  // namespace

std::vector<float> embed(std::string_view text, std::size_t dimensions) {
  std::vector<float> vector(dimensions, 0.0F);
  add_direction(text, vector);  // different texts differ even if their words are the same
  const auto is_separator = [](char c) {
    return !absl::ascii_isalnum(static_cast<unsigned char>(c));
  };
  std::string word;
  for (const char c : text) {
    if (!is_separator(c)) {
      word.push_back(absl::ascii_tolower(static_cast<unsigned char>(c)));
    } else if (!word.empty()) {
      add_direction(word, vector);
      word.clear();
    }
  }
  if (!word.empty()) {
    add_direction(word, vector);
  }
  double norm = 0.0;
  for (const float value : vector) {
    norm += static_cast<double>(value) * value;
  }
  norm = std::sqrt(norm);
  for (float& value : vector) {
    value = static_cast<float>(value / norm);
  }
  return vector;
}

double cosine(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += static_cast<double>(a[i]) * b[i];
  }
  return sum;
}

std::string to_base64(const std::vector<float>& vector) {
  std::string bytes;
  for (const float value : vector) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    for (unsigned shift = 0; shift < 32; shift += 8) {
      bytes.push_back(static_cast<char>((bits >> shift) & 0xFFU));
    }
  }
  return absl::Base64Escape(bytes);
}

}  // namespace rolter::simulator
