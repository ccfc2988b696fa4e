#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rolter/config/url.h"
#include "tests/fakes/engine_thread.h"
#include "tests/fakes/tcp_relay.h"
#include "tests/integration/balance/gateway_fixture.h"
#include "tests/integration/balance/mixed_traffic.h"

namespace rolter::runtime {

inline constexpr std::size_t kEngines = 4;
inline constexpr std::size_t kBlockSize = 16;
inline constexpr std::string_view kCached = R"("cached_tokens":)";

/// The number after the last `mark` of the text; absent without it.
inline std::optional<std::size_t> number_after(std::string_view text, std::string_view mark) {
  const std::size_t at = text.rfind(mark);
  std::size_t number = 0;
  if (at == std::string_view::npos ||
      std::from_chars(text.data() + at + mark.size(), text.data() + text.size(), number).ec !=
          std::errc{}) {
    return std::nullopt;
  }
  return number;
}

/// A gateway with precise_cache_aware over simulated engines and their real event streams.
class PreciseFleetTest : public GatewayTest {
 protected:
  /// One answer: who gave it, what the gateway expected in the cache, what the engine found there.
  struct Seen {
    std::string provider;
    std::optional<std::size_t> expected;  // absent: nothing is known of the engine's cache
    std::size_t reported = 0;
    std::size_t stored = 0;  // blocks that were new to the engine
    [[nodiscard]] bool as_expected() const { return expected.value_or(0) == reported; }
  };
  struct Tally {
    int requests = 0;
    int as_expected = 0;
    std::size_t cached_tokens = 0;
    std::string surprises;  // for people
    Seen last;
    [[nodiscard]] double share() const { return static_cast<double>(as_expected) / requests; }
    void add(const Seen& seen) {
      ++requests;
      last = seen;
      as_expected += seen.as_expected() ? 1 : 0;
      cached_tokens += seen.reported;
      if (!seen.as_expected()) {
        surprises += fmt::format(
            "request {} at {}: {} expected, {} reported\n", requests, seen.provider,
            seen.expected ? std::to_string(*seen.expected) : std::string("nothing"), seen.reported);
      }
    }
  };

  PreciseFleetTest() : PreciseFleetTest(simulator::EngineOptions()) {}
  explicit PreciseFleetTest(simulator::EngineOptions alike) : engines_alike_(std::move(alike)) {
    for (std::size_t i = 0; i < kEngines; ++i) {
      start_engine(engine_options(i));
      relays_.push_back(std::make_unique<fakes::TcpRelay>(port_of(addresses_[i].events)));
    }
  }

  /// 6,400 tokens of cache: some of it is evicted all the time.
  [[nodiscard]] simulator::EngineOptions engine_options(std::size_t number) const {
    simulator::EngineOptions options = engines_alike_;
    options.model = "m";
    options.speed = {0.0, 0.0};
    options.seed = number;
    options.limits.blocks = 400;
    options.limits.block_size = kBlockSize;
    options.kv_events.endpoint = "tcp://127.0.0.1:0";
    options.kv_events.replay_endpoint = "tcp://127.0.0.1:0";
    return options;
  }

  void start_engine(const simulator::EngineOptions& options) {
    simulator::SimEngine& engine = engines_.start(options);
    engines_.run([&] {
      addresses_.push_back({.engine = &engine,
                            .port = engine.port(),
                            .events = engine.kv_endpoint(),
                            .replay = engine.kv_replay_endpoint()});
    });
  }

  /// Another process on the same ports, with an empty cache.
  void restart_engine(std::size_t number) {
    Address& old = addresses_[number];
    engines_.run([&] { old.engine->kill(); });
    engines_.await_closed(*old.engine);
    simulator::EngineOptions again = engine_options(number);
    again.port = old.port;
    again.kv_events.endpoint = old.events;
    again.kv_events.replay_endpoint = old.replay;
    old.engine = &engines_.start(again);
  }

  /// The one that has stored the most, until the gateway knows it: the restart of an engine that
  /// chance has left out would be none that anybody could see. Returns its number.
  std::size_t restart_busiest_engine() {
    const auto busiest = std::ranges::max_element(stored_);
    const auto one = static_cast<std::size_t>(busiest - stored_.begin());
    restart_engine(one);
    await([&] {
      return metric(fmt::format(R"(rolter_kv_incidents_total{{target="{}",kind="restart"}})",
                                name(one))) == 1 &&
             state_of(one) == 3 && replica(one).eligible(now());
    });
    return one;
  }

  void start_gateway() {
    config::Config config = base_config();
    config.index.save_path = save_path_;
    config.index.tokenize_per_second = tokenize_per_second_;
    config.server.loops = 2;
    config.admin.port = 0;
    config.admin.token = config::Secret("token");
    config::Route& route = add_route(config, "m");
    route = route_;
    route.model = "m";
    route.strategy = config::StrategyKind::kPreciseCacheAware;
    for (std::size_t i = 0; i < kEngines; ++i) {
      config::KvEvents& events =
          add_target(config, name(i), addresses_[i].port).kv_events.emplace();
      events.endpoint = fmt::format("tcp://127.0.0.1:{}", relays_[i]->port());
      events.replay_endpoint = addresses_[i].replay;
      events.stale = std::chrono::seconds(1);
    }
    start(std::move(config));
  }

  void await_live() {
    for (std::size_t i = 0; i < kEngines; ++i) {
      await([&] { return state_of(i) == 3; });
    }
  }

  static std::string name(std::size_t engine) { return "engine-" + std::to_string(engine); }
  static std::uint16_t port_of(const std::string& endpoint) {
    return config::parse_tcp_endpoint(endpoint).value().port;
  }
  [[nodiscard]] double state_of(std::size_t engine) const {
    return metric(fmt::format(R"(rolter_kv_stream_state{{target="{}"}})", name(engine)));
  }
  [[nodiscard]] double metric_of_all(std::string_view format) const {
    double sum = 0;
    for (std::size_t i = 0; i < kEngines; ++i) {
      sum += metric(fmt::format(fmt::runtime(format), name(i)));
    }
    return sum;
  }

  /// A prompt that no engine has seen, nor anything like it.
  static MixedRequest stranger(std::size_t number) {
    std::string ids = fmt::format("{}", 5 + number);
    for (int i = 0; i < 100; ++i) {
      ids += fmt::format(",{}", 900 + i);
    }
    return {.path = "/v1/completions",
            .body = R"({"model":"m","max_tokens":4,"prompt":[)" + ids + "]}",
            .ids = "",
            .talk = MixedRequest::kNone};
  }

  Seen send(MixedTraffic& traffic) {
    const MixedRequest request = traffic.next();
    const fakes::RawAnswer answer = ask(request);
    traffic.answered(request, answer.body);
    return seen(answer);
  }

  fakes::RawAnswer ask(const MixedRequest& request) {
    FieldList fields{{"x-rolter-explain", "1"}, {"x-rolter-admin-token", "token"}};
    if (!request.ids.empty() && with_ids_) {
      fields.emplace_back("x-rolter-vllm-token-ids", request.ids);
    }
    return post(request.path, request.body, fields);
  }

  static Seen seen(const fakes::RawAnswer& answer) {
    EXPECT_EQ(answer.status, 200) << answer.body;
    const auto reported = number_after(answer.body, kCached);
    EXPECT_TRUE(reported) << answer.body;
    return {.provider = answer.field("x-rolter-provider"),
            .expected = number_after(answer.field("x-rolter-explain"), "; cached_tokens="),
            .reported = reported.value_or(0),
            .stored = stored_blocks(answer)};
  }

  /// Those that the answer has cost the engine, each announced: the last token is never computed.
  static std::size_t stored_blocks(const fakes::RawAnswer& answer) {
    const std::size_t tokens = number_after(answer.body, R"("prompt_tokens":)").value_or(0) +
                               number_after(answer.body, R"("completion_tokens":)").value_or(0);
    return (tokens - 1) / kBlockSize - number_after(answer.body, kCached).value_or(0) / kBlockSize;
  }

  /// Until the gateway has been told of all that this answer has changed in its engine, as it has
  /// when people have read it.
  void await_told(const Seen& answer) {
    const std::size_t engine = static_cast<std::size_t>(answer.provider.back() - '0');
    stored_[engine] += answer.stored;
    await_told(engine);
  }
  void await_told(std::size_t engine) {
    const std::string sample =
        fmt::format(R"(rolter_kv_events_total{{target="{}",kind="stored"}})", name(engine));
    await([&] { return metric(sample) >= static_cast<double>(stored_[engine]); });
  }

  Tally send(MixedTraffic& traffic, int requests) {
    Tally tally;
    for (int i = 0; i < requests; ++i) {
      tally.add(send(traffic));
      await_told(tally.last);
    }
    return tally;
  }

  static void expect_as_expected(const Tally& tally) {
    EXPECT_GE(tally.share(), 0.99) << tally.surprises;
  }

  struct Address {
    simulator::SimEngine* engine = nullptr;
    std::uint16_t port = 0;
    std::string events;
    std::string replay;
  };

  config::Route route_;                     // but for its name, strategy and targets
  simulator::EngineOptions engines_alike_;  // but for what each has of its own
  std::uint32_t tokenize_per_second_ = 50;
  std::string save_path_;  // "" = nothing is kept on file
  bool with_ids_ = true;   // whether requests bring token ids
  fakes::EngineThread engines_;
  std::array<std::size_t, kEngines> stored_{};  // blocks, since the first engine of each place
  std::vector<Address> addresses_;
  std::vector<std::unique_ptr<fakes::TcpRelay>> relays_;  // in front of the engines' events
  MixedTraffic traffic_{11};
};

}  // namespace rolter::runtime
