#include "rolter/cli/demo_fleet.h"

#include <fmt/format.h>

#include <atomic>
#include <boost/asio/ip/address_v4.hpp>
#include <future>
#include <utility>

namespace rolter::cli {
namespace {

config::Log quiet_log() {
  return {.level = "error", .format = "text", .access = false};
}

}  // namespace

DemoFleet::DemoFleet(FleetOptions options)
    : options_(std::move(options)),
      logs_(quiet_log()),
      engine_thread_("demo-engines", clock_, logs_.app),
      caller_thread_("demo-callers", clock_, logs_.app) {}

DemoFleet::~DemoFleet() {
  stop_callers();
  gateway_.reset();
  stop_engines();
}

Result<void> DemoFleet::start() {
  engine_thread_.start();
  caller_thread_.start();
  if (auto started = start_engines(); !started) {
    return started;
  }
  gateway_ = std::make_unique<runtime::Gateway>(gateway_config());
  if (auto started = gateway_->start(); !started) {
    return started;
  }
  caller_thread_.run([this] {
    callers_ = std::make_unique<simulator::LoadRun>(
        caller_thread_.loop(), caller_thread_.scope(),
        http::Endpoint(http::asio::ip::address_v4::loopback(), gateway_->port()), kModel);
  });
  return {};
}

Result<void> DemoFleet::start_engines() {
  Result<void> started;
  engine_thread_.run([&] {
    for (std::size_t i = 0; i < options_.replicas && started; ++i) {
      engines_.push_back(std::make_unique<simulator::SimEngine>(
          engine_thread_.loop(), options_.engine,
          [this](std::string_view task, const std::exception& bug) {
            logs_.app.error("bug: task {} ended with an exception: {}", task, bug.what());
          }));
      started = engines_.back()->start();
    }
  });
  return started;
}

config::Config DemoFleet::gateway_config() {
  config::Config config;
  config.server.host = "127.0.0.1";
  config.server.port = 0;
  config.server.loops = 1;
  config.log = quiet_log();
  config::Route& route = config.routes.emplace_back();
  route.model = kModel;
  route.strategy = options_.strategy;
  engine_thread_.run([&] {
    for (std::size_t i = 0; i < engines_.size(); ++i) {
      config::Provider& provider = config.providers.emplace_back();
      provider.name = fmt::format("replica-{}", i + 1);
      provider.api_base = {
          .tls = false, .host = "127.0.0.1", .port = engines_[i]->port(), .base_path = ""};
      if (!engines_[i]->kv_endpoint().empty()) {
        config::KvEvents& events = provider.kv_events.emplace();
        events.endpoint = engines_[i]->kv_endpoint();
        events.replay_endpoint = engines_[i]->kv_replay_endpoint();
      }
      config::RouteTarget& target = route.targets.emplace_back();
      target.provider = i;
      target.model = options_.engine.model;
    }
  });
  return config;
}

void DemoFleet::with_callers(const std::function<void(simulator::LoadRun&)>& work) {
  caller_thread_.run([&] { work(*callers_); });
}

simulator::LoadResult DemoFleet::callers_result() {
  simulator::LoadResult result;
  with_callers([&](simulator::LoadRun& run) { result = run.result(); });
  return result;
}

std::vector<simulator::SchedulerStats> DemoFleet::replica_stats() {
  std::vector<simulator::SchedulerStats> stats;
  engine_thread_.run([&] {
    for (const auto& engine : engines_) {
      stats.push_back(engine->stats());
    }
  });
  return stats;
}

std::string DemoFleet::target_name(std::size_t replica) const {
  return fmt::format("replica-{}/{}", replica + 1, options_.engine.model);
}

void DemoFleet::stop_callers() {
  if (callers_) {
    caller_thread_.run([this] { callers_->abort(); });
  }
  caller_thread_.join();
  callers_.reset();
}

void DemoFleet::stop_engines() {
  if (engines_.empty()) {
    return;
  }
  for (auto& engine : engines_) {
    std::promise<void> closed;
    engine_thread_.run([&] {
      engine->kill();
      engine->when_closed([&closed] { closed.set_value(); });
    });
    closed.get_future().wait();
  }
  engine_thread_.run([this] { engines_.clear(); });
  engine_thread_.join();
}

}  // namespace rolter::cli
