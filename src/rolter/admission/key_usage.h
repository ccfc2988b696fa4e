#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "rolter/admission/minute_window.h"
#include "rolter/base/time.h"

namespace rolter::admission {

/// What one virtual key may use; 0 = no limit.
struct KeyLimits {
  std::uint64_t requests_per_minute = 0;
  std::uint64_t tokens_per_minute = 0;
  std::uint32_t max_in_flight = 0;

  [[nodiscard]] bool any() const {
    return requests_per_minute != 0 || tokens_per_minute != 0 || max_in_flight != 0;
  }
  bool operator==(const KeyLimits&) const = default;
};

enum class Limit : std::uint8_t { kRequests, kTokens, kInFlight };

/// A request that came over a limit. It has not been counted anywhere.
struct Refused {
  Limit limit = Limit::kRequests;
  std::uint64_t allowed = 0;
  std::uint64_t asked = 0;  // tokens, for kTokens
  /// When the same request may pass; nullopt: never, it is greater than the limit itself.
  std::optional<Duration> retry_after;
};

/// For the client: `the key may send 60 requests a minute; retry in 12 s`.
[[nodiscard]] std::string describe(const Refused& refused);

/// One limit as x-ratelimit-* headers tell it.
struct Allowance {
  std::uint64_t limit = 0;  // 0 = no limit, and the rest means nothing
  std::uint64_t remaining = 0;
  Duration reset{};  // until nothing is counted any more
};

struct KeyStatus {
  Allowance requests;
  Allowance tokens;
};

class Admission;

/// What one virtual key has used within the last minute and uses now. One per key, kept across
/// reloads by its name. Any thread: one lock for some tens of nanoseconds per request, taken only
/// for keys with limits. About 1 KiB.
class KeyUsage : public std::enable_shared_from_this<KeyUsage> {
 public:
  /// Counts a request that may use up to `tokens` tokens, or refuses it; all limits together or
  /// none, so that a refused request takes nothing from anyone and no burst passes a limit.
  [[nodiscard]] std::expected<Admission, Refused> admit(const KeyLimits& limits,
                                                        std::uint64_t tokens, TimePoint now);

  [[nodiscard]] KeyStatus status(const KeyLimits& limits, TimePoint now);
  [[nodiscard]] std::uint32_t in_flight() const;

 private:
  friend class Admission;

  [[nodiscard]] std::optional<Refused> refusal(const KeyLimits& limits, std::uint64_t tokens,
                                               TimePoint now);

  mutable std::mutex mutex_;
  MinuteWindow requests_;
  MinuteWindow tokens_;         // of requests that are settled
  std::uint64_t reserved_ = 0;  // tokens of requests that are not
  std::uint32_t in_flight_ = 0;
};

/// A request that was let in. Move-only: whatever way the request ends, its place and what it
/// reserved go back exactly once. Empty when the key has no limits.
class Admission {
 public:
  Admission() = default;
  Admission(Admission&& other) noexcept;
  Admission& operator=(Admission&& other) noexcept;
  ~Admission() { end(); }

  /// The tokens it used really, as far as known: counted instead of the reservation. Once; without
  /// it the request has used none.
  void settle(std::uint64_t tokens, TimePoint now);

  /// The gateway refused the request after all (queue full, no target): as if it had never come.
  void cancel();

 private:
  friend class KeyUsage;
  Admission(std::shared_ptr<KeyUsage> usage, std::uint64_t reserved, MinuteWindow::Second second)
      : usage_(std::move(usage)), reserved_(reserved), second_(second) {}

  void end();

  std::shared_ptr<KeyUsage> usage_;
  std::uint64_t reserved_ = 0;
  MinuteWindow::Second second_{};
};

}  // namespace rolter::admission
