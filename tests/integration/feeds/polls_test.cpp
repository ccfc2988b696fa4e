#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "rolter/feeds/health_probe.h"
#include "rolter/feeds/lmcache_poll.h"
#include "rolter/feeds/metrics_scrape.h"
#include "tests/integration/feeds/poll_test_loop.h"

namespace rolter::feeds {
namespace {

using namespace std::chrono_literals;
using cluster::ProbeResult;
using cluster::Replica;
using cluster::WhyNot;
using fakes::http_answer;
using fakes::HttpResponder;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

constexpr auto kHangs = [](const std::string&) { return std::nullopt; };

cluster::ReplicaSettings quick_settings() {
  cluster::ReplicaSettings settings;
  settings.health.interval = 30ms;
  settings.health.timeout = 100ms;
  return settings;
}

std::shared_ptr<Replica> make_replica(const std::string& name) {
  return std::make_shared<Replica>(name, ReplicaSlot{0}, quick_settings());
}

class HealthProbesTest : public PollTest {
 protected:
  ~HealthProbesTest() override { probes_.stop(); }

  void watch(std::vector<ProbedReplica> replicas, std::function<void()> first_done = {}) {
    probes_.watch(std::move(replicas), quick_settings().health, std::move(first_done));
  }
  static ProbedReplica probed(const std::shared_ptr<Replica>& replica,
                              const HttpResponder& responder) {
    return {.replica = replica, .source = source_of(responder), .base_path = "/prefix"};
  }
  WhyNot state(const Replica& replica) { return replica.status(loop_.now()).why_not; }

  std::vector<ProbeResult> results_;
  std::vector<std::string> changes_;
  HealthProbes probes_{
      loop_, scope_, Rng{1},
      [this](const Replica&, ProbeResult result, const cluster::Transition& changed) {
        results_.push_back(result);
        if (changed.any()) {
          changes_.push_back(describe(changed));
        }
      }};
};

TEST_F(HealthProbesTest, ask_the_configured_path_with_the_providers_key) {
  HttpResponder responder{io_, [](const std::string&) { return http_answer(200, ""); }};
  watch({probed(make_replica("a"), responder)});
  run_until([&] { return results_.size() >= 3; });
  EXPECT_THAT(responder.heads()[0], HasSubstr("GET /prefix/health HTTP/1.1\r\n"));
  EXPECT_THAT(responder.heads()[0], HasSubstr("Authorization: Bearer of-the-provider\r\n"));
  EXPECT_EQ(results_[0], ProbeResult::kPassed);
  EXPECT_TRUE(changes_.empty());
}

TEST_F(HealthProbesTest, a_replica_that_hangs_goes_down_and_comes_back) {
  HttpResponder responder{io_, kHangs};
  const auto replica = make_replica("a");
  watch({probed(replica, responder)});
  run_until([&] { return state(*replica) == WhyNot::kDown; });
  EXPECT_THAT(results_,
              ElementsAre(ProbeResult::kTimedOut, ProbeResult::kTimedOut, ProbeResult::kTimedOut));
  responder.respond = [](const std::string&) { return http_answer(200, ""); };
  run_until([&] { return state(*replica) == WhyNot::kNone; });
  EXPECT_THAT(changes_, ElementsAre("down: health probes fail", "up: health probes pass again"));
}

TEST_F(HealthProbesTest, a_refused_probe_puts_it_out_at_once) {
  HttpResponder responder{io_, [](const std::string&) { return http_answer(200, ""); }};
  const auto replica = make_replica("a");
  responder.stop_listening();
  watch({probed(replica, responder)});
  run_until([&] { return !results_.empty(); });
  EXPECT_EQ(results_[0], ProbeResult::kRefused);
  EXPECT_EQ(state(*replica), WhyNot::kCooling);
  EXPECT_TRUE(replica->refused_since());
  responder.listen();
  run_until([&] { return state(*replica) == WhyNot::kNone; });
  EXPECT_FALSE(replica->refused_since());
}

TEST_F(HealthProbesTest, a_rejected_key_is_said_and_takes_nothing_away) {
  HttpResponder responder{io_, [](const std::string&) { return http_answer(401, "no"); }};
  const auto replica = make_replica("a");
  watch({probed(replica, responder)});
  run_until([&] { return results_.size() >= 4; });
  EXPECT_EQ(results_[3], ProbeResult::kKeyRejected);
  EXPECT_EQ(state(*replica), WhyNot::kNone);
}

TEST_F(HealthProbesTest, a_reload_ends_the_probes_of_what_is_gone_and_keeps_the_others) {
  const auto fine = [](const std::string&) { return http_answer(200, ""); };
  HttpResponder old_one{io_, fine};
  HttpResponder stays{io_, fine};
  HttpResponder new_one{io_, fine};
  const auto staying = make_replica("b");
  watch({probed(make_replica("a"), old_one), probed(staying, stays)});
  run_until([&] { return !old_one.heads().empty() && !stays.heads().empty(); });
  bool first_done = false;
  watch({probed(staying, stays), probed(make_replica("c"), new_one)},
        [&first_done] { first_done = true; });
  run_until([&] { return first_done; });
  // What was sent to the old one before the reload has arrived by now, or never will.
  const std::size_t seen_by_old = old_one.heads().size();
  const std::size_t seen_by_stays = stays.heads().size();
  run_until(
      [&] { return new_one.heads().size() >= 5 && stays.heads().size() >= seen_by_stays + 3; });
  EXPECT_EQ(old_one.heads().size(), seen_by_old);
}

TEST_F(HealthProbesTest, one_that_hangs_does_not_delay_the_others) {
  HttpResponder hanging{io_, kHangs};
  HttpResponder quick{io_, [](const std::string&) { return http_answer(200, ""); }};
  config::Health patient = quick_settings().health;
  patient.timeout = 0ms;  // no limit
  probes_.watch({probed(make_replica("a"), hanging), probed(make_replica("b"), quick)}, patient,
                {});
  run_until([&] { return quick.heads().size() >= 10; });
  EXPECT_EQ(hanging.heads().size(), 1U) << "one question at a time";
}

TEST_F(HealthProbesTest, are_off_when_the_configuration_says_so) {
  HttpResponder responder{io_, [](const std::string&) { return http_answer(200, ""); }};
  config::Health off;
  off.enabled = false;
  bool first_done = false;
  probes_.watch({probed(make_replica("a"), responder)}, off, [&] { first_done = true; });
  EXPECT_TRUE(first_done);
  EXPECT_EQ(scope_.running(), 0U);
}

class MetricsScrapeTest : public PollTest {
 protected:
  ~MetricsScrapeTest() override { scrape_.stop(); }

  void watch(const std::shared_ptr<Replica>& replica, const HttpResponder& responder) {
    config::MetricsScrape settings;
    settings.enabled = true;
    settings.interval = 20ms;
    settings.timeout = 100ms;
    scrape_.watch({{.replica = replica, .source = source_of(responder), .base_path = ""}}, settings,
                  [this] { ++first_rounds_; });
  }

  int first_rounds_ = 0;
  std::vector<std::pair<std::string, std::string>> told_;
  std::vector<std::string> restarted_;
  MetricsScrape scrape_{loop_, scope_, Rng{1},
                        [this](std::string_view provider, const std::string& problem) {
                          told_.emplace_back(provider, problem);
                        },
                        [this](const Replica& replica) { restarted_.push_back(replica.name()); }};
};

constexpr const char* kLoad =
    "vllm:num_requests_running 3\nvllm:num_requests_waiting 4\nvllm:kv_cache_usage_perc 0.5\n";

TEST_F(MetricsScrapeTest, brings_queue_depth_and_kv_usage) {
  HttpResponder responder{io_, [](const std::string&) { return http_answer(200, kLoad); }};
  const auto replica = make_replica("a");
  watch(replica, responder);
  run_until([&] { return first_rounds_ == 1; });
  EXPECT_EQ(replica->queued(loop_.now()), 7.0);
  EXPECT_EQ(replica->kv_usage(loop_.now()), 0.5);
  EXPECT_TRUE(told_.empty());
}

TEST_F(MetricsScrapeTest, a_request_sent_while_the_scrape_is_under_way_counts_on_top) {
  const auto replica = make_replica("a");
  std::atomic<std::uint32_t> load{0};
  HttpResponder responder{io_, [&](const std::string&) {
                            (void)cluster::Lease::acquire(*replica, load, 0);
                            return http_answer(200, kLoad);
                          }};
  watch(replica, responder);
  run_until([&] { return first_rounds_ == 1; });
  EXPECT_EQ(replica->queued(loop_.now()), 8.0);
}

TEST_F(MetricsScrapeTest, a_new_start_time_is_said) {
  const auto started = [](const char* at) {
    return http_answer(200, std::string(kLoad) + "process_start_time_seconds " + at + "\n");
  };
  HttpResponder responder{io_, [&](const std::string&) { return started("1.7960240933e+09"); }};
  watch(make_replica("a"), responder);
  run_until([&] { return responder.heads().size() >= 3; });
  EXPECT_TRUE(restarted_.empty());
  responder.respond = [&](const std::string&) { return started("1.7960250933e+09"); };
  run_until([&] { return !restarted_.empty(); });
  EXPECT_THAT(restarted_, ElementsAre("a"));
}

TEST_F(MetricsScrapeTest, metrics_that_are_not_there_are_unknown_and_said_once) {
  HttpResponder responder{io_, [](const std::string&) { return http_answer(404, "<html>"); }};
  const auto replica = make_replica("a");
  watch(replica, responder);
  run_until([&] { return responder.heads().size() >= 5; });
  EXPECT_FALSE(replica->queued(loop_.now()));
  EXPECT_THAT(told_, ElementsAre(Pair("a", "status 404")));
  responder.respond = [](const std::string&) { return http_answer(200, "python_info 1\n"); };
  run_until([&] { return told_.size() == 2; });
  EXPECT_THAT(told_[1].second, HasSubstr("no gauge"));
  EXPECT_FALSE(replica->queued(loop_.now()));
  responder.respond = [](const std::string&) { return http_answer(200, kLoad); };
  run_until([&] { return told_.size() == 3; });
  EXPECT_EQ(told_[2].second, "") << "all is well again";
  EXPECT_EQ(replica->queued(loop_.now()), 7.0);
}

class LmcachePollsTest : public PollTest {
 protected:
  ~LmcachePollsTest() override { polls_.stop(); }

  void watch(const std::shared_ptr<Replica>& replica, const HttpResponder& responder) {
    LmcacheServer server{.replica = replica, .source = source_of(responder), .settings = {}};
    server.settings.endpoint.base_path = "/cache?x=1";
    server.settings.refresh = 20ms;
    polls_.watch({server});
  }

  std::vector<std::string> told_;
  LmcachePolls polls_{loop_, scope_, Rng{1}, [this](std::string_view, const std::string& problem) {
                        told_.push_back(problem);
                      }};
};

TEST_F(LmcachePollsTest, bring_occupancy_and_a_bad_answer_takes_it_away) {
  HttpResponder responder{io_, [](const std::string&) {
                            return http_answer(200, R"({"occupancy":0.25,"cache_available":true})");
                          }};
  const auto replica = make_replica("a");
  watch(replica, responder);
  run_until([&] { return replica->lmcache(loop_.now()).has_value(); });
  EXPECT_THAT(responder.heads()[0], HasSubstr("GET /cache?x=1 HTTP/1.1\r\n"));
  EXPECT_EQ(replica->lmcache(loop_.now()),
            (cluster::LmcacheReading{.occupancy = 0.25, .available = true}));
  responder.respond = [](const std::string&) {
    return http_answer(200, R"({"occupancy":25,"cache_available":true})");
  };
  run_until([&] { return !replica->lmcache(loop_.now()); });
  EXPECT_THAT(told_, ElementsAre(HasSubstr("0 and 1")));
}

}  // namespace
}  // namespace rolter::feeds
