#pragma once

#include <cstdint>
#include <string_view>

#include "rolter/base/time.h"
#include "rolter/config/config.h"

namespace rolter::cluster {

/// What one health probe found.
enum class ProbeResult : std::uint8_t {
  kPassed,
  kKeyRejected,  // 401 or 403: alive, but our key is wrong there; said so, and not "down"
  kFailed,       // another status, or an unusable answer
  kTimedOut,
  kRefused,  // nobody listens
};

[[nodiscard]] std::string_view to_string(ProbeResult result);

/// Up or down by probes, with a threshold each way, so that one slow answer of a busy replica takes
/// nothing away. Not thread-safe.
class HealthState {
 public:
  enum class Change : std::uint8_t { kNone, kWentDown, kCameUp, kCleared };

  explicit HealthState(const config::Health& settings) : settings_(settings) {}
  /// Switching probes off makes it up: nothing would ever bring it back.
  void configure(const config::Health& settings);

  /// kCleared: suspect() is answered, the replica passed as often as a down one must.
  Change record(ProbeResult result);

  /// A request could not connect, or its connection broke: probe faster from now on, and count
  /// passes anew. Ignored when probes are off.
  void suspect();

  [[nodiscard]] bool up() const { return up_; }
  [[nodiscard]] bool suspected() const { return suspected_; }
  [[nodiscard]] ProbeResult last() const { return last_; }

  /// Time from one probe to the next.
  [[nodiscard]] Duration probe_interval() const;

 private:
  config::Health settings_;
  std::uint32_t passes_in_a_row_ = 0;
  std::uint32_t failures_in_a_row_ = 0;
  bool up_ = true;
  bool suspected_ = false;
  ProbeResult last_ = ProbeResult::kPassed;
};

}  // namespace rolter::cluster
