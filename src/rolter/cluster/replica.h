#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "rolter/base/ids.h"
#include "rolter/base/time.h"
#include "rolter/cluster/breaker.h"
#include "rolter/cluster/cooldown.h"
#include "rolter/cluster/engine_gauges.h"
#include "rolter/cluster/fresh_reading.h"
#include "rolter/cluster/health_state.h"
#include "rolter/cluster/outcome.h"
#include "rolter/cluster/transition.h"

namespace rolter::cluster {

struct ReplicaSettings {
  config::Cooldown cooldown;
  config::Breaker breaker;
  config::Health health;
  Duration scrape_stale = std::chrono::seconds{15};  // a scraped depth older than this is unknown
};

/// Whether a failing attempt may still cool its replica: one request may cool one, so that a prompt
/// that breaks engines cannot park the whole fleet on its way through the retries.
enum class MayCool : std::uint8_t { kYes, kNo };

/// How an attempt ended.
struct Report {
  Outcome outcome = Outcome::kAbandoned;
  std::optional<Duration> retry_after{};  // what the replica asked for, unclamped
  MayCool may_cool = MayCool::kYes;
};

/// Why a target takes part in no comparison.
enum class WhyNot : std::uint8_t {
  kNone,  // it is eligible
  kDrained,
  kDown,
  kCooling,
  kBreakerOpen,
  kTrialUnderWay,  // half-open, and another request is trying
  kAtCap,
  kTried,
};

[[nodiscard]] std::string_view to_string(WhyNot why);

/// What an LMCache server says of itself.
struct LmcacheReading {
  double occupancy = 0.0;  // 0..1
  bool available = false;

  bool operator==(const LmcacheReading&) const = default;
};

/// What people are shown of a replica.
struct ReplicaStatus {
  WhyNot why_not = WhyNot::kNone;
  ProbeResult last_probe = ProbeResult::kPassed;
  Breaker::State breaker = Breaker::State::kClosed;
  std::uint32_t failures_in_a_row = 0;
  Duration cooling_left{};  // 0 when not cooling
  bool drained = false;
};

/// The live state of one provider, shared by every target that names it and kept across reloads for
/// as long as the provider's name and address stay. Any thread.
///
/// Asking whether it is eligible is one relaxed load of a deadline that is recomputed, under a
/// lock, whenever an event changes it. A served request takes the lock only when there is something
/// to mend (a failure before it, an open breaker).
class Replica {
 public:
  Replica(std::string name, ReplicaSlot slot, const ReplicaSettings& settings = {});
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] ReplicaSlot slot() const { return slot_; }

  /// Requests of ours from the pick to the end of the body.
  [[nodiscard]] std::uint32_t in_flight() const {
    return in_flight_.load(std::memory_order_relaxed);
  }

  // ---- read by every pick ----

  [[nodiscard]] bool eligible(TimePoint now) const {
    return now.time_since_epoch().count() >= closed_until_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] bool drained() const { return drained_.load(std::memory_order_relaxed); }

  /// Share of misses it may take: rises from 0.05 to 1 within `slow_start` of coming (back) to
  /// life. 1 when slow_start is 0.
  [[nodiscard]] double ramp(TimePoint now, Duration slow_start) const;

  /// Scraped running + waiting, plus what we sent since; nullopt when never scraped or too old.
  [[nodiscard]] std::optional<double> queued(TimePoint now) const;

  /// Share of its KV blocks in use, as scraped; nullopt when unknown.
  [[nodiscard]] std::optional<double> kv_usage(TimePoint now) const { return kv_usage_.at(now); }

  /// Its LMCache server, as last polled; nullopt when there is none or its answer is unusable or
  /// too old.
  [[nodiscard]] std::optional<LmcacheReading> lmcache(TimePoint now) const;

  /// Since when connects have been refused without any sign of life. A request that has received
  /// nothing since, and for a few seconds on, is lost: vLLM after SIGTERM leaves its open responses
  /// without an end while its port already refuses. Not a reason to cut a stream that still flows.
  [[nodiscard]] std::optional<TimePoint> refused_since() const;

  /// Since when its process runs, as its metrics tell; 0 = not known.
  [[nodiscard]] double started_at() const { return started_at_.load(std::memory_order_relaxed); }

  // ---- events ----

  /// Before sending: the trial slot of a breaker that is not closed, kNone when there is nothing to
  /// claim, nullopt when another request holds it.
  [[nodiscard]] std::optional<TrialSlot> claim_trial(TimePoint now);

  /// The end of an attempt that was sent at `sent_at`. Attempt calls it.
  Transition attempt_ended(const Report& report, TrialSlot slot, TimePoint sent_at, TimePoint now);

  Transition probed(ProbeResult result, TimePoint now);

  /// What the replica's metrics say. `sent_mark` is sent() from before the scrape was sent: later
  /// requests count on top.
  /// One thread at a time.
  Transition scraped(const EngineGauges& gauges, std::uint32_t sent_mark, TimePoint now);
  /// As an earlier scrape has told: the next one says whether it still does.
  void has_run_since(double started_at) {
    started_at_.store(started_at, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint32_t sent() const { return sent_.load(std::memory_order_relaxed); }

  /// Good for `good_for`; nullopt: the answer was unusable, so nothing is known from now on.
  void lmcache_polled(std::optional<LmcacheReading> reading, TimePoint now, Duration good_for);

  /// By an operator: out of every comparison until undone. Returns whether this changed anything.
  bool set_drained(bool drained, TimePoint now);

  void configure(const ReplicaSettings& settings);
  /// For one that joins a running fleet: cold, so that slow start applies.
  void starts_cold(TimePoint now);

  // ---- control loop, admin ----

  /// Time from one probe to the next: short while it is down, or a request could not reach it.
  [[nodiscard]] Duration probe_interval() const;
  [[nodiscard]] ReplicaStatus status(TimePoint now) const;

 private:
  friend class Lease;

  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();
  static constexpr std::int64_t kAlways = std::numeric_limits<std::int64_t>::max();

  void on_success(TrialSlot slot, TimePoint sent_at, TimePoint now, Transition& changed);
  void on_failure(const Report& report, TrialSlot slot, TimePoint now, Transition& changed);
  void on_refused(TimePoint now);
  void on_answered(Transition& changed);
  void on_alive(TimePoint now, HealthState::Change change, Transition& changed);
  void refresh();  // recomputes what the atomics tell; under the lock

  std::string name_;
  ReplicaSlot slot_;

  // Read by every pick, written on transitions only.
  alignas(64) std::atomic<std::int64_t> closed_until_{kNever};
  std::atomic<std::int64_t> cold_since_{kNever};
  std::atomic<std::int64_t> refused_since_{kNever};
  std::atomic<std::int64_t> scraped_at_{kNever};
  std::atomic<double> started_at_{0.0};  // as last scraped, unix seconds; 0 = not known
  FreshReading kv_usage_;
  FreshReading cache_room_;  // free share of LMCache, or kUnavailable
  std::atomic<std::int64_t> scrape_stale_;
  std::atomic<std::uint64_t> scrape_;       // depth as float, and sent() at the scrape, in one word
  std::atomic<bool> guarded_{false};        // the breaker is not closed
  std::atomic<bool> needs_mending_{false};  // a success would change something
  std::atomic<bool> drained_{false};

  // A line of its own: every request of every loop writes it.
  alignas(64) std::atomic<std::uint32_t> in_flight_{0};
  std::atomic<std::uint32_t> sent_{0};  // wraps

  alignas(64) mutable std::mutex mutex_;
  Cooldown cooldown_;
  Breaker breaker_;
  HealthState health_;
  TimePoint failed_at_ = TimePoint::min();
};

/// One request's share of a replica's load, and of its target's cap. Move-only: whatever way the
/// request ends (abort, retry, timeout, exception, shutdown), the counts go back exactly once.
class Lease {
 public:
  Lease() = default;

  /// Takes one unit of `replica`, and one of `target_in_flight` when that stays <= cap (0 = no
  /// cap). By compare-and-swap, so that several loops never pass a cap together. Not taken: holds()
  /// is false. Both must outlive the lease.
  [[nodiscard]] static Lease acquire(Replica& replica, std::atomic<std::uint32_t>& target_in_flight,
                                     std::uint32_t cap) {
    std::uint32_t current = target_in_flight.load(std::memory_order_relaxed);
    do {
      if (cap != 0 && current >= cap) {
        return {};
      }
    } while (
        !target_in_flight.compare_exchange_weak(current, current + 1, std::memory_order_relaxed));
    replica.in_flight_.fetch_add(1, std::memory_order_relaxed);
    replica.sent_.fetch_add(1, std::memory_order_relaxed);
    return Lease(replica, target_in_flight);
  }

  Lease(Lease&& other) noexcept
      : replica_(std::exchange(other.replica_, nullptr)),
        target_in_flight_(std::exchange(other.target_in_flight_, nullptr)) {}
  Lease& operator=(Lease&& other) noexcept {
    if (this != &other) {
      release();
      replica_ = std::exchange(other.replica_, nullptr);
      target_in_flight_ = std::exchange(other.target_in_flight_, nullptr);
    }
    return *this;
  }
  ~Lease() { release(); }

  [[nodiscard]] bool holds() const { return replica_ != nullptr; }

  void release() {
    if (replica_ != nullptr) {
      replica_->in_flight_.fetch_sub(1, std::memory_order_relaxed);
      target_in_flight_->fetch_sub(1, std::memory_order_relaxed);
      replica_ = nullptr;
    }
  }

 private:
  Lease(Replica& replica, std::atomic<std::uint32_t>& target_in_flight)
      : replica_(&replica), target_in_flight_(&target_in_flight) {}

  Replica* replica_ = nullptr;
  std::atomic<std::uint32_t>* target_in_flight_ = nullptr;
};

}  // namespace rolter::cluster
