#pragma once

#include <cstddef>

#include "rolter/proxy/recorder.h"
#include "rolter/telemetry/metrics_registry.h"

namespace rolter::runtime {

/// Counts and logs what happens on one loop.
class LoopRecorder final : public proxy::Recorder {
 public:
  LoopRecorder(telemetry::MetricsRegistry& metrics, std::size_t loop)
      : counters_(&metrics.loop(loop)), loop_(loop) {}

  void request_ended(const proxy::GatewayState& state, const proxy::RequestFacts& facts) override;
  void replica_changed(std::string_view provider, const cluster::Transition& change) override;
  void attempt_failed(const proxy::GatewayState& state, std::size_t route, std::size_t target,
                      cluster::Outcome outcome, std::string_view why) override;
  void failed_open(const proxy::GatewayState& state, std::size_t route) override;

 private:
  telemetry::LoopCounters* counters_;
  std::size_t loop_;
};

}  // namespace rolter::runtime
