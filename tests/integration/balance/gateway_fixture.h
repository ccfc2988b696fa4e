#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rolter/runtime/gateway.h"
#include "tests/fakes/raw_client.h"

namespace rolter::runtime {

/// A gateway in this process, in front of whatever listens on loopback.
class GatewayTest : public ::testing::Test {
 protected:
  using FieldList = std::vector<std::pair<std::string, std::string>>;

  /// Nothing on file, quick probes and retries.
  static config::Config base_config() {
    using std::chrono::milliseconds;
    config::Config config;
    config.server.host = "127.0.0.1";
    config.server.port = 0;
    config.server.loops = 1;
    config.log.level = "error";
    config.log.access = false;
    config.health.interval = milliseconds(50);
    config.health.fail_after = 1;
    config.retry.base_backoff = milliseconds(1);
    config.retry.max_backoff = milliseconds(2);
    config.retry.max_retries = 3;
    return config;
  }

  static config::Route& add_route(config::Config& config, const std::string& model) {
    config::Route& route = config.routes.emplace_back();
    route.model = model;
    return route;
  }

  /// A provider that is a target of the last route.
  static config::Provider& add_target(config::Config& config, const std::string& name,
                                      std::uint16_t port) {
    config.routes.back().targets.push_back(
        {.provider = config.providers.size(), .model = "m", .weight = 1.0, .max_in_flight = 0});
    config::Provider& provider = config.providers.emplace_back();
    provider.name = name;
    provider.api_base.host = "127.0.0.1";
    provider.api_base.port = port;
    return provider;
  }

  void start(config::Config config) {
    gateway_ = std::make_unique<Gateway>(std::move(config));
    ASSERT_TRUE(gateway_->start());
  }

  fakes::RawAnswer post(const std::string& path, const std::string& body,
                        const FieldList& fields = {}) {
    return fakes::post_json(gateway_->port(), path, body, fields);
  }

  /// A question like no other, so that no prefix or hash ties the requests together.
  fakes::RawAnswer ask(const std::string& model = "m", bool streamed = false) {
    return post("/v1/chat/completions",
                R"({"model":")" + model + R"(","stream":)" + (streamed ? "true" : "false") +
                    R"(,"messages":[{"role":"user","content":")" + std::to_string(++asked_) +
                    R"( is the number of this question"}]})",
                ask_fields_);
  }

  /// The value of a sample of the gateway's metrics; 0 when there is none.
  [[nodiscard]] double metric(const std::string& sample) const {
    const std::string page = "\n" + fakes::get(gateway_->port(), "/metrics").body;
    const std::size_t at = page.find("\n" + sample + " ");
    return at == std::string::npos ? 0.0 : std::stod(page.substr(at + sample.size() + 2, 40));
  }

  [[nodiscard]] cluster::Replica& replica(std::size_t provider) const {
    return *gateway_->state()->cluster->replicas.at(provider);
  }

  void expect_no_load() const {
    const auto state = gateway_->state();
    await([&] {
      for (const auto& replica : state->cluster->replicas) {
        if (replica->in_flight() != 0) {
          return false;
        }
      }
      for (const auto& route : state->cluster->routes) {
        for (const auto& target : route.targets) {
          if (target.load->in_flight != 0) {
            return false;
          }
        }
      }
      return true;
    });
  }

  /// For what follows by itself, and of which nobody tells.
  static void await(const std::function<bool()>& holds) {
    const TimePoint limit = now() + std::chrono::seconds(5);
    std::promise<void> nobody;
    const std::future<void> nothing = nobody.get_future();
    while (!holds()) {
      ASSERT_LT(now(), limit) << "it did not happen";
      nothing.wait_for(std::chrono::milliseconds(1));
    }
  }

  static TimePoint now() { return std::chrono::steady_clock::now(); }

  std::unique_ptr<Gateway> gateway_;
  FieldList ask_fields_;  // of every ask()
  int asked_ = 0;
};

}  // namespace rolter::runtime
