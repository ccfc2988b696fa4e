#pragma once

#include <cstdint>

namespace rolter::balance {

/// When a replica is too busy to be worth its warm cache: more than `beyond` requests over the
/// least loaded eligible one and more than `times` its load. A short queue where the prefix is
/// cached is worth waiting in; a long one is not.
struct OverloadRule {
  std::uint32_t beyond = 2;
  double times = 1.5;

  [[nodiscard]] bool is_overloaded(std::uint32_t load, std::uint32_t least) const {
    return load > std::uint64_t{least} + beyond && load > times * least;
  }
};

}  // namespace rolter::balance
