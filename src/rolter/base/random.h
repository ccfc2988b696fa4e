#pragma once

#include <cstddef>
#include <cstdint>
#include <random>

namespace rolter {

/// The random source is an argument, like the time: the same seed gives the same decisions. One per
/// event loop, never shared between threads and never reseeded from a clock per pick.
using Rng = std::mt19937_64;

/// Uniform in [0, bound). bound must be > 0.
[[nodiscard]] std::size_t uniform_index(Rng& rng, std::size_t bound);

/// Uniform in [0, 1).
[[nodiscard]] double uniform_unit(Rng& rng);

/// A source seeded from the operating system's entropy.
[[nodiscard]] Rng make_seeded_rng();

}  // namespace rolter
