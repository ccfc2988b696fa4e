#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rolter::simulator {

/// A unit vector that is a function of the text alone: texts that share words point in similar
/// directions, so that rankings by it are stable and not absurd. Every word adds a direction of its
/// own, drawn from its hash.
[[nodiscard]] std::vector<float> embed(std::string_view text, std::size_t dimensions);

/// -1 .. 1.
[[nodiscard]] double cosine(const std::vector<float>& a, const std::vector<float>& b);

/// The little-endian floats in base 64, as encoding_format "base64" wants it.
[[nodiscard]] std::string to_base64(const std::vector<float>& vector);

}  // namespace rolter::simulator
