#pragma once

#include <chrono>
#include <csignal>
#include <optional>
#include <string>

#include "rolter/cli/demo_report.h"
#include "rolter/cli/demo_workload.h"
#include "rolter/cli/signals.h"

namespace rolter::cli {

/// The signals that end the demo. Made before any thread starts, so that all of them leave the
/// signals to us.
class Interrupts {
 public:
  /// Waits for one, at most so long. True from the first one on.
  [[nodiscard]] bool within(std::chrono::milliseconds time);
  [[nodiscard]] bool interrupted() const { return interrupted_; }

 private:
  sigset_t signals_ = take_over_signals({SIGINT, SIGTERM});
  bool interrupted_ = false;
};

/// Plays the workload against a fresh fleet under one strategy, with progress on stderr, and ends
/// everything it has started. Nothing when it was interrupted.
[[nodiscard]] Result<std::optional<StrategyReport>> run_strategy(const std::string& strategy,
                                                                 const DemoOptions& options,
                                                                 const DemoWorkload& workload,
                                                                 Interrupts& interrupts);

}  // namespace rolter::cli
