#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rolter/admission/key_usage.h"
#include "rolter/admission/presented_key.h"
#include "rolter/base/error.h"
#include "rolter/base/time.h"
#include "rolter/config/config.h"

namespace rolter::admission {

/// Who calls: the holder of one virtual key, or anyone when the gateway is open. Refers to the
/// KeyRing it came from.
class Caller {
 public:
  /// The key's name, for logs and metrics; "" when the gateway is open.
  [[nodiscard]] std::string_view name() const;

  /// Whether the key may use a model, under the name that was asked for or its route's own name.
  /// kDenied otherwise.
  [[nodiscard]] Result<void> may_use(std::string_view asked, std::string_view route_model) const;

  /// Counts one request against the key's limits; `tokens` is the most it may use (prompt and
  /// answer), as far as known.
  [[nodiscard]] std::expected<Admission, Refused> admit(std::uint64_t tokens, TimePoint now) const;

  /// What is left of the key's limits; nullopt when it has none.
  [[nodiscard]] std::optional<KeyStatus> status(TimePoint now) const;

 private:
  friend class KeyRing;
  struct Key;
  explicit Caller(const Key* key) : key_(key) {}

  const Key* key_;  // nullptr = anyone
};

/// The virtual keys of one configuration. Immutable but for what the keys have used, which the ring
/// of the next configuration takes over; any thread.
///
/// A presented key is found by a hash under a seed that nobody outside knows, and then compared in
/// full without an early end, so that the time taken tells nothing about the keys. About 30 ns.
class KeyRing {
 public:
  /// `seed` is random per process. `previous` is the ring of the configuration before, if any.
  KeyRing(const config::Config& config, std::uint64_t seed, const KeyRing* previous = nullptr);
  ~KeyRing();
  KeyRing(const KeyRing&) = delete;
  KeyRing& operator=(const KeyRing&) = delete;

  /// kUnauthenticated for a key that is missing, contradictory, unknown, disabled or expired; only
  /// the holder of the right key is told which of the last two. Always succeeds when the gateway is
  /// open.
  [[nodiscard]] Result<Caller> authenticate(const PresentedKey& presented, WallTime now) const;

 private:
  [[nodiscard]] std::uint64_t hash(std::string_view secret) const;
  [[nodiscard]] const Caller::Key* find(std::string_view secret) const;

  config::AuthMode mode_;
  std::uint64_t seed_;
  std::vector<Caller::Key> keys_;  // by hash
};

}  // namespace rolter::admission
