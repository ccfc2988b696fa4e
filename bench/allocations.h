#pragma once

#include <benchmark/benchmark.h>

#include <cstdint>

namespace rolter::bench {

/// Calls of operator new by this process so far (allocations.cpp replaces it).
[[nodiscard]] std::uint64_t allocations();

/// Adds the counter "allocs/op" for what happens between its making and report().
class AllocationCounter {
 public:
  AllocationCounter() : before_(allocations()) {}
  void report(benchmark::State& state) const {
    state.counters["allocs/op"] = benchmark::Counter(static_cast<double>(allocations() - before_),
                                                     benchmark::Counter::kAvgIterations);
  }

 private:
  std::uint64_t before_;
};

}  // namespace rolter::bench
