#include "rolter/simulator/sim_engine.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "rolter/simulator/engine_server.h"
#include "rolter/simulator/engine_service.h"

namespace rolter::simulator {
namespace {

// A real API server noticed its dead core and ended 0.46 s after the kill.
constexpr std::chrono::milliseconds kDeathThroes{400};

}  // namespace

struct SimEngine::Impl {
  Impl(http::Loop& loop, EngineOptions options, http::TaskScope::BugReport on_bug)
      : scope(loop, std::move(on_bug)), service(loop, options), server(service, scope) {}

  Result<void> open_publishers();
  void stop_ranks();
  http::Task<> drain(TimePoint latest);
  http::Task<> kill_later();

  http::TaskScope scope;
  EngineService service;
  EngineServer server;
};

Result<void> SimEngine::Impl::open_publishers() {
  const KvPublisherOptions& events = service.options().kv_events;
  if (events.endpoint.empty()) {
    return {};
  }
  for (std::uint32_t rank = 0; rank < service.ranks().size(); ++rank) {
    auto publisher = KvPublisher::open(service.loop(), scope, events, rank);
    if (!publisher) {
      return std::unexpected(std::move(publisher.error()));
    }
    service.ranks()[rank]->publish_to(std::move(*publisher));
  }
  return {};
}

void SimEngine::Impl::stop_ranks() {
  for (const auto& rank : service.ranks()) {
    rank->stop();
  }
}

http::Task<> SimEngine::Impl::drain(TimePoint latest) {
  co_await server.wait_until_quiet(latest);
  server.close_listener();
  server.abort_connections(EngineServer::Which::kAll);
  stop_ranks();
}

http::Task<> SimEngine::Impl::kill_later() {
  Wakeup wait(service.loop());
  co_await wait.wait(service.loop().now() + kDeathThroes);
  server.close_listener();
  server.abort_connections(EngineServer::Which::kAll);
  stop_ranks();
}

SimEngine::SimEngine(http::Loop& loop, EngineOptions options, http::TaskScope::BugReport on_bug)
    : impl_(std::make_unique<Impl>(loop, std::move(options), std::move(on_bug))) {}

SimEngine::~SimEngine() = default;

Result<void> SimEngine::start() {
  Result<void> started = impl_->open_publishers();
  if (started) {
    started = impl_->server.listen();
  }
  if (!started) {
    kill();
    return started;
  }
  for (const auto& rank : impl_->service.ranks()) {
    impl_->scope.spawn("engine", rank->run());
  }
  return {};
}

std::uint16_t SimEngine::port() const {
  return impl_->server.port();
}

std::string SimEngine::kv_endpoint(std::uint32_t rank) const {
  const KvPublisher* publisher = impl_->service.ranks().at(rank)->publisher();
  return publisher == nullptr ? std::string() : publisher->endpoint();
}

std::string SimEngine::kv_replay_endpoint(std::uint32_t rank) const {
  const KvPublisher* publisher = impl_->service.ranks().at(rank)->publisher();
  return publisher == nullptr ? std::string() : publisher->replay_endpoint();
}

const EngineOptions& SimEngine::options() const {
  return impl_->service.options();
}

void SimEngine::kill() {
  impl_->server.close_listener();
  impl_->server.stop_waiting();
  impl_->server.abort_connections(EngineServer::Which::kAll);
  for (const auto& rank : impl_->service.ranks()) {
    rank->die();
  }
  impl_->stop_ranks();
}

void SimEngine::drain(Duration timeout) {
  impl_->service.set_state(ServiceState::kDraining);
  impl_->scope.spawn("drain", impl_->drain(impl_->service.loop().now() + timeout));
}

void SimEngine::hang() {
  impl_->server.close_listener();
  impl_->server.abort_connections(EngineServer::Which::kIdle);
  impl_->stop_ranks();
}

void SimEngine::core_dies() {
  impl_->service.set_state(ServiceState::kDead);
  for (const auto& rank : impl_->service.ranks()) {
    rank->die();
  }
  impl_->scope.spawn("death", impl_->kill_later());
}

void SimEngine::when_closed(std::function<void()> callback) {
  impl_->scope.when_empty(std::move(callback));
}

SchedulerStats SimEngine::stats() const {
  SchedulerStats sum;
  for (const auto& rank : impl_->service.ranks()) {
    const SchedulerStats stats = rank->stats();
    sum.running += stats.running;
    sum.waiting += stats.waiting;
    sum.kv_usage = std::max(sum.kv_usage, stats.kv_usage);
    sum.preemptions += stats.preemptions;
    sum.prompt_tokens += stats.prompt_tokens;
    sum.hit_tokens += stats.hit_tokens;
    sum.computed_prefill_tokens += stats.computed_prefill_tokens;
    sum.generated_tokens += stats.generated_tokens;
    sum.finished_stop += stats.finished_stop;
    sum.finished_length += stats.finished_length;
    sum.aborted += stats.aborted;
  }
  return sum;
}

std::size_t SimEngine::open_requests() const {
  return impl_->server.busy();
}

}  // namespace rolter::simulator
