#pragma once

#include <cstddef>
#include <vector>

#include "rolter/base/time.h"
#include "rolter/http/loop.h"
#include "rolter/proxy/decision_ring.h"
#include "rolter/proxy/recorder.h"
#include "rolter/runtime/cache_losses.h"
#include "rolter/runtime/kv_events.h"
#include "rolter/runtime/logs.h"
#include "rolter/telemetry/access_log.h"
#include "rolter/telemetry/metrics_registry.h"

namespace rolter::runtime {

/// Who is told of what happens on the loops. All must outlive them.
struct Recordings {
  telemetry::MetricsRegistry& metrics;
  Logs& logs;
  KvEvents& kv_events;
  CacheLosses& losses;
};

/// Counts and logs what happens on one loop.
class LoopRecorder final : public proxy::Recorder {
 public:
  /// All must outlive the recorder.
  LoopRecorder(const http::Loop& clock, std::size_t loop, const Recordings& to,
               proxy::DecisionRing& decisions)
      : clock_(clock),
        loop_(loop),
        counters_(to.metrics.loop(loop)),
        app_log_(to.logs.app),
        access_log_(to.logs.queue, telemetry::LogFormat::kJson),
        decisions_(decisions),
        kv_events_(to.kv_events),
        losses_(to.losses) {}

  /// By how much a timer of the loop was late.
  void loop_was_late(Duration lag);

  /// Hands gathered access lines to the writing thread. Several times a second.
  void flush() { access_log_.flush(); }

  void request_ended(const proxy::GatewayState& state, const proxy::RequestFacts& facts) override;
  void replica_changed(const proxy::GatewayState& state, std::size_t provider,
                       const cluster::Transition& change) override;
  void attempt_failed(const proxy::GatewayState& state, std::size_t route, std::size_t target,
                      cluster::Outcome outcome, std::string_view why) override;
  void queue_refused(const proxy::GatewayState& state, std::size_t route,
                     proxy::QueueRefusal why) override;
  void failed_open(const proxy::GatewayState& state, std::size_t route) override;
  void fell_back(const proxy::GatewayState& state, std::size_t route) override;
  void bad_token_ids(const proxy::GatewayState& state, std::size_t route) override;

 private:
  void count_key(const proxy::GatewayState& state, const proxy::RequestFacts& facts);
  void write_access_line(const proxy::GatewayState& state, const proxy::RequestFacts& facts);
  void expect_kv_event(const proxy::GatewayState& state, const proxy::RequestFacts& facts);

  const http::Loop& clock_;
  std::size_t loop_;
  telemetry::LoopCounters& counters_;
  telemetry::AppLog& app_log_;
  telemetry::AccessLog access_log_;
  proxy::DecisionRing& decisions_;
  KvEvents& kv_events_;
  CacheLosses& losses_;
  std::vector<TimePoint> event_expected_at_;  // by ReplicaSlot; the last time it was said
};

}  // namespace rolter::runtime
