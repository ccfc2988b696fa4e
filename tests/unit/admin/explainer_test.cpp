#include "rolter/admin/explainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "rolter/proxy/state_builder.h"
#include "tests/fakes/stored_blocks.h"

namespace rolter::admin {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

class ExplainerTest : public ::testing::Test {
 protected:
  void build(config::StrategyKind strategy = config::StrategyKind::kCacheAware) {
    build(one_route(strategy));
  }
  void build(config::Config config) {
    const std::vector<std::shared_ptr<const http::TlsContext>> no_tls(config.providers.size());
    state_ = builder_.build(std::move(config), {.server = {}, .clients = no_tls}, now_).state;
  }
  static config::Config one_route(
      config::StrategyKind strategy = config::StrategyKind::kCacheAware) {
    config::Config config;
    for (const char* name : {"a", "b", "c"}) {
      config::Provider& provider = config.providers.emplace_back();
      provider.name = name;
      provider.api_base.host = "127.0.0.1";
    }
    config::Route& route = config.routes.emplace_back();
    route.model = "chat";
    route.strategy = strategy;
    route.targets = {{.provider = 0, .model = "x"},
                     {.provider = 1, .model = "x"},
                     {.provider = 2, .model = "x"}};
    return config;
  }
  /// "chat" on a and b with a cap of one each and two places to wait, and a spare route on c.
  static config::Config capped_route_with_a_fallback() {
    config::Config config = one_route();
    config::Route spare = config.routes[0];
    spare.model = "spare";
    spare.targets = {{.provider = 2, .model = "y"}};
    config::Route& chat = config.routes[0];
    chat.fallback = "spare";
    chat.queue = {.capacity = 2, .timeout = std::chrono::seconds{10}};
    chat.targets.pop_back();
    chat.targets[0].max_in_flight = chat.targets[1].max_in_flight = 1;
    config.routes.push_back(std::move(spare));
    return config;
  }
  void go_down(std::size_t target) {
    while (replica(target).status(now_).why_not == cluster::WhyNot::kNone) {
      replica(target).probed(cluster::ProbeResult::kFailed, now_);
    }
  }
  /// A request that is under way.
  [[nodiscard]] cluster::Lease occupy(std::size_t target) {
    const cluster::RouteTarget& chosen = state_->cluster->routes[0].targets[target];
    return cluster::Lease::acquire(*chosen.replica, chosen.load->in_flight, chosen.cap);
  }
  std::expected<Explanation, Reply> explain(std::string body, std::string_view path = "",
                                            std::string_view token_ids = "") {
    const std::size_t length = body.size();
    body.append(openai::RequestParser::kPadding, ' ');
    return explainer_.explain(*state_, {.path = path,
                                        .body = std::string_view(body).substr(0, length),
                                        .session = "",
                                        .now = now_,
                                        .token_ids = token_ids});
  }
  /// The events of the target's engine tell of one block of four tokens, stored under this salt.
  void holds(std::size_t target, const std::vector<TokenId>& tokens, std::string_view salt = "") {
    kvcache::BlockIndex& index = builder_.residency()->index;
    const auto stream = index.add_stream({.replica = replica(target).slot()}).value();
    fakes::StoredBlocks stored{.hashes = {7}, .tokens = tokens, .block_size = 4};
    if (!salt.empty()) {
      stored.extras = {
          kvcache::mix_extra(kvcache::ExtraDigest::kNone, kvcache::ExtraKind::kText, salt)};
    }
    stored.apply(index, stream);
    index.set_usable(stream, true);
  }
  /// As the data path remembers a request that was sent.
  void has_served(std::size_t target, const std::string& text) {
    openai::RequestParser parser;
    std::string body = request(text);
    const std::size_t length = body.size();
    body.append(openai::RequestParser::kPadding, ' ');
    const auto view = parser.parse(openai::Endpoint::kChatCompletions, "application/json",
                                   std::string_view(body).substr(0, length));
    cluster::Candidate chosen;
    chosen.target = target;
    chosen.replica = replica(target).slot();
    auto record = state_->routes[0].strategy->record({.eligible = {&chosen, 1},
                                                      .prompt = view->prompt,
                                                      .token_ids = {},
                                                      .session = "",
                                                      .now = now_},
                                                     chosen);
    record.keep(TimePoint{});
  }
  cluster::Replica& replica(std::size_t target) {
    return *state_->cluster->routes[0].targets[target].replica;
  }
  static std::string request(const std::string& text) {
    return R"({"model":"chat","messages":[{"role":"user","content":")" + text + "\"}]}";
  }

  telemetry::MetricsRegistry metrics_{1, {}, {}};
  proxy::StateBuilder builder_{metrics_, 1};
  TimePoint now_{std::chrono::hours{1}};
  std::shared_ptr<const proxy::GatewayState> state_;
  Explainer explainer_{Rng{7}};
};

const std::string kLong(400, 'p');

TEST_F(ExplainerTest, says_who_holds_the_prompt_and_who_comes_next) {
  build();
  has_served(1, kLong);
  const auto why = explain(request(kLong));
  ASSERT_TRUE(why);
  EXPECT_EQ(why->pick, "b");
  EXPECT_THAT(*why->runner_up, AnyOf("a", "c"));
  EXPECT_EQ(why->reason, "prefix");
  EXPECT_EQ(why->route, "chat");
  EXPECT_EQ(why->strategy, "cache_aware");
  EXPECT_DOUBLE_EQ(*why->targets[1].matched, 1.0);
  EXPECT_DOUBLE_EQ(*why->threshold, 0.5);
}

TEST_F(ExplainerTest, remembers_nothing) {
  build();
  for (int i = 0; i < 5; ++i) {
    const auto why = explain(request(kLong));
    ASSERT_TRUE(why);
    EXPECT_EQ(why->reason, "below_threshold");
    EXPECT_DOUBLE_EQ(why->targets[0].matched.value_or(-1), 0.0);
  }
  EXPECT_EQ(builder_.trees().find("x")->stats().prompts, 0);
}

TEST_F(ExplainerTest, shows_what_a_target_that_is_left_out_holds) {
  build();
  has_served(1, kLong);
  replica(1).set_drained(true, now_);
  const auto why = explain(request(kLong));
  ASSERT_TRUE(why);
  EXPECT_NE(why->pick, "b");
  EXPECT_FALSE(why->targets[1].eligible);
  EXPECT_EQ(why->targets[1].why_not, "drained");
  EXPECT_DOUBLE_EQ(*why->targets[1].matched, 1.0);
  EXPECT_FALSE(why->targets[1].total);
}

TEST_F(ExplainerTest, shows_why_a_warm_target_is_passed_over) {
  build();
  has_served(0, kLong);
  std::vector<cluster::Lease> leases;
  for (int i = 0; i < 4; ++i) {
    leases.push_back(cluster::Lease::acquire(
        replica(0), state_->cluster->routes[0].targets[0].load->in_flight, 0));
  }
  const auto why = explain(request(kLong));
  ASSERT_TRUE(why);
  EXPECT_EQ(why->reason, "overloaded");
  EXPECT_TRUE(*why->targets[0].overloaded);
  EXPECT_FALSE(*why->targets[1].overloaded);
  EXPECT_EQ(why->targets[0].load, 4);
  EXPECT_EQ(why->overload->least_load, 0);
  EXPECT_THAT(to_text(*why), HasSubstr("load > 0 + 2 and load > 1.5 x 0"));
}

TEST_F(ExplainerTest, token_ids_and_salt_count_as_on_the_data_path) {
  build(config::StrategyKind::kPreciseCacheAware);
  holds(1, {1, 2, 3, 4});
  holds(2, {1, 2, 3, 4}, "tenant");
  EXPECT_EQ(explain(request("x"))->reason, "no_credit");
  EXPECT_EQ(explain(request("x"), "", "1,2,,4")->reason, "no_credit") << "unreadable: as absent";
  const auto plain = explain(request("x"), "", "1, 2, 3, 4");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->pick, "b");
  EXPECT_EQ(plain->reason, "resident");
  EXPECT_EQ(plain->prompt_tokens, 4);
  ASSERT_TRUE(plain->overload) << "the rule that may pass it over";
  std::string salted = request("x");
  salted.insert(1, R"("cache_salt":"tenant",)");
  EXPECT_EQ(explain(salted, "", "1, 2, 3, 4")->pick, "c");
}

TEST_F(ExplainerTest, without_anybody_there_is_no_pick) {
  build();
  for (std::size_t i = 0; i < 3; ++i) {
    replica(i).set_drained(true, now_);
  }
  const auto why = explain(request("hi"));
  ASSERT_TRUE(why);
  EXPECT_FALSE(why->pick);
  EXPECT_EQ(why->reason, "all_drained");
  EXPECT_THAT(to_json(*why), HasSubstr(R"("pick":null,"runner_up":null)"));
  EXPECT_THAT(to_text(*why), HasSubstr("goes nowhere: all_drained"));
}

TEST_F(ExplainerTest, a_request_that_would_wait_is_told_its_place) {
  build(capped_route_with_a_fallback());
  has_served(1, kLong);
  const std::array under_way{occupy(0), occupy(1)};
  const auto first = state_->routes[0].queue->join("", [] {});
  const auto why = explain(request(kLong));
  ASSERT_TRUE(why);
  EXPECT_FALSE(why->pick);
  EXPECT_FALSE(why->fallback) << "waiting is no outage";
  EXPECT_EQ(why->reason, "queued");
  EXPECT_EQ(why->targets[1].why_not, "at_cap");
  EXPECT_DOUBLE_EQ(*why->targets[1].matched, 1.0);
  EXPECT_THAT(to_text(*why), HasSubstr("place 2 of 2 in the queue"));
  EXPECT_THAT(to_text(*why), HasSubstr("at most 10 s, then 429"));
  EXPECT_THAT(to_json(*why), HasSubstr(R"("availability":"all_at_cap","pick":null)"));
  EXPECT_THAT(to_json(*why), HasSubstr(R"("queue":{"waiting":1,"capacity":2,"timeout_secs":10})"));
}

TEST_F(ExplainerTest, a_request_that_finds_the_queue_full_is_told_so) {
  build(capped_route_with_a_fallback());
  const std::array under_way{occupy(0), occupy(1)};
  const std::array waiting{state_->routes[0].queue->join("", [] {}),
                           state_->routes[0].queue->join("", [] {})};
  const auto why = explain(request(kLong));
  ASSERT_TRUE(why);
  EXPECT_EQ(why->reason, "queue_full");
  EXPECT_THAT(to_text(*why), HasSubstr("refused with 429"));
  EXPECT_THAT(to_text(*why), HasSubstr("the queue is full (2 of 2)"));
}

TEST_F(ExplainerTest, while_others_wait_a_free_place_is_theirs) {
  build(capped_route_with_a_fallback());
  const auto under_way = occupy(0);
  const auto first = state_->routes[0].queue->join("", [] {});
  const auto why = explain(request(kLong));
  ASSERT_TRUE(why);
  EXPECT_FALSE(why->pick);
  EXPECT_EQ(why->queue->waiting, 1);
}

TEST_F(ExplainerTest, a_route_that_is_out_names_its_fallback_and_the_pick_there) {
  build(capped_route_with_a_fallback());
  replica(0).set_drained(true, now_);
  EXPECT_EQ(explain(request(kLong))->pick, "b") << "one is left";
  replica(1).set_drained(true, now_);
  const auto why = explain(request(kLong));
  ASSERT_TRUE(why);
  EXPECT_FALSE(why->pick);
  EXPECT_EQ(why->reason, "fallback_route");
  ASSERT_TRUE(why->fallback);
  EXPECT_EQ(why->fallback->route, "spare");
  EXPECT_EQ(why->fallback->pick, "c");
  EXPECT_EQ(why->fallback->reason, "only_one");
  EXPECT_THAT(to_text(*why), HasSubstr("chat goes to the fallback route spare"));
  EXPECT_THAT(to_text(*why), HasSubstr("chat goes to c: no other target is eligible"));
  EXPECT_THAT(to_json(*why), HasSubstr(R"("fallback":{"model":"chat","route":"spare")"));
}

TEST_F(ExplainerTest, targets_that_are_down_lead_to_the_fallback_too) {
  build(capped_route_with_a_fallback());
  for (const std::size_t target : {std::size_t{0}, std::size_t{1}}) {
    go_down(target);
  }
  const auto why = explain(request(kLong));
  ASSERT_TRUE(why);
  EXPECT_EQ(why->targets[0].why_not, "down");
  ASSERT_TRUE(why->fallback);
  EXPECT_EQ(why->fallback->pick, "c");
}

TEST_F(ExplainerTest, a_strategy_that_reads_no_prompt_claims_no_match) {
  build(config::StrategyKind::kLeastLoad);
  const auto why = explain(request(kLong));
  ASSERT_TRUE(why);
  EXPECT_FALSE(why->targets[0].matched);
  EXPECT_FALSE(why->threshold);
  EXPECT_FALSE(why->overload);
}

TEST_F(ExplainerTest, tells_the_api_from_the_body_or_is_told) {
  build();
  EXPECT_EQ(explain(R"({"model":"chat","prompt":"abcd"})")->prompt_bytes, 4);
  EXPECT_EQ(explain(R"({"model":"chat","prompt":[1,2,3]})")->prompt_tokens, 3);
  EXPECT_EQ(explain(R"({"model":"chat","prompt":"abcd"})", "/v1/completions")->prompt_bytes, 4);
  EXPECT_EQ(explain(request("x"), "/v1/nothing").error().status, 400);
}

TEST_F(ExplainerTest, what_cannot_be_routed_is_refused_as_on_the_api) {
  build();
  EXPECT_EQ(explain(R"({"model":"other","messages":[]})").error().status, 404);
  EXPECT_EQ(explain(R"({"messages":[]})").error().status, 400);
  EXPECT_EQ(explain("no json").error().status, 400);
}

TEST_F(ExplainerTest, its_json_has_the_documented_members) {
  build();
  has_served(2, kLong);
  const std::string json = to_json(*explain(request(kLong)));
  EXPECT_THAT(json, HasSubstr(R"("route":"chat","strategy":"cache_aware")"));
  EXPECT_THAT(json, HasSubstr(R"("pick":"c","runner_up":")"));
  EXPECT_THAT(json, HasSubstr(R"({"provider":"a","model":"x","eligible":true,"why_not":null,)"
                              R"("matched":0,"load":0,"queued":null,"overloaded":false,)"
                              R"("scores":{"total":0,"prefix":0,"in_flight":0}})"));
}

}  // namespace
}  // namespace rolter::admin
