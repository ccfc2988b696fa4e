#include "rolter/admin/decisions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "rolter/proxy/state_builder.h"

namespace rolter::admin {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class DecisionsTest : public ::testing::Test {
 protected:
  DecisionsTest() {
    config::Config config;
    config.providers.emplace_back().name = "a";
    config.providers[0].api_base.host = "127.0.0.1";
    config.routes.emplace_back().model = "chat";
    config.routes[0].targets.push_back({.provider = 0, .model = "x"});
    shared_ = std::make_unique<proxy::SharedState>(
        builder_.build(std::move(config), {.server = {}, .clients = {{}}}, TimePoint{}).state, 2);
  }
  void serve(std::size_t loop, const std::string& id, WallTime at) {
    proxy::RequestFacts facts;
    facts.request_id = id;
    facts.trace_id = std::string(32, 'b');
    facts.route = 0;
    facts.target_label = "a/x";
    facts.decision.reason = balance::Reason::kPrefix;
    facts.status = 200;
    shared_->decisions[loop].add(*shared_->gateway.load(), facts, at);
  }
  static std::vector<std::string> ids(const std::vector<proxy::RoutedRequest>& decisions) {
    std::vector<std::string> ids;
    for (const proxy::RoutedRequest& decision : decisions) {
      ids.push_back(decision.request_id);
    }
    return ids;
  }

  telemetry::MetricsRegistry metrics_{1, {}, {}};
  proxy::StateBuilder builder_{metrics_, 1};
  std::unique_ptr<proxy::SharedState> shared_;
};

TEST_F(DecisionsTest, of_all_loops_are_in_the_order_of_time) {
  serve(0, "first", WallTime{1s});
  serve(1, "second", WallTime{2s});
  serve(0, "third", WallTime{3s});
  EXPECT_THAT(ids(find_decisions(*shared_, "")), ElementsAre("first", "second", "third"));
  EXPECT_THAT(ids(find_decisions(*shared_, "second")), ElementsAre("second"));
}

TEST_F(DecisionsTest, a_cursor_sees_each_once) {
  DecisionCursor cursor;
  serve(0, "first", WallTime{1s});
  EXPECT_THAT(ids(read_decisions(*shared_, cursor, 10)), ElementsAre("first"));
  EXPECT_THAT(read_decisions(*shared_, cursor, 10), IsEmpty());
  serve(1, "second", WallTime{2s});
  serve(0, "third", WallTime{3s});
  EXPECT_THAT(ids(read_decisions(*shared_, cursor, 1)), ElementsAre("third"));
  EXPECT_THAT(read_decisions(*shared_, cursor, 10), IsEmpty());
}

TEST_F(DecisionsTest, the_newest_are_kept) {
  for (std::size_t i = 1; i <= proxy::DecisionRing::kKept + 10; ++i) {
    serve(0, std::to_string(i), WallTime{std::chrono::seconds(i)});
  }
  const auto kept = find_decisions(*shared_, "");
  ASSERT_EQ(kept.size(), proxy::DecisionRing::kKept);
  EXPECT_EQ(kept.front().request_id, "11");
}

TEST_F(DecisionsTest, are_written_with_target_and_reason) {
  serve(0, "a\"b", WallTime{1s});
  EXPECT_THAT(decisions_json(find_decisions(*shared_, "")),
              HasSubstr(R"("request_id":"a\"b","trace_id":")" + std::string(32, 'b') +
                        R"(","route":"chat","target":"a/x","reason":"prefix")"));
}

TEST_F(DecisionsTest, show_predicted_and_reported_cached_tokens_side_by_side) {
  proxy::RequestFacts facts;
  facts.route = 0;
  shared_->decisions[0].add(*shared_->gateway.load(), facts, WallTime{1s});
  facts.sent = true;
  facts.decision.cached_tokens = 96;
  facts.usage = openai::Usage{.prompt_tokens = 130, .completion_tokens = 1, .cached_tokens = 128};
  shared_->decisions[0].add(*shared_->gateway.load(), facts, WallTime{2s});
  const std::string json = decisions_json(find_decisions(*shared_, ""));
  EXPECT_THAT(json, HasSubstr(R"("predicted_cached_tokens":null,"cached_tokens":null)"));
  EXPECT_THAT(json, HasSubstr(R"("predicted_cached_tokens":96,"cached_tokens":128)"));
}

TEST_F(DecisionsTest, the_last_error_of_any_loop_counts) {
  shared_->decisions[0].note_error("a", "old", WallTime{1s});
  shared_->decisions[1].note_error("a", "new", WallTime{2s});
  shared_->decisions[0].note_error("b", "other", WallTime{1s});
  const auto errors = last_errors(*shared_);
  ASSERT_EQ(errors.size(), 2);
  EXPECT_EQ(errors[0].text, "new");
}

TEST_F(DecisionsTest, last_errors_are_bounded) {
  proxy::DecisionRing& ring = shared_->decisions[0];
  for (std::size_t i = 0; i < proxy::DecisionRing::kMostProviders + 5; ++i) {
    ring.note_error("provider " + std::to_string(i), "why", WallTime{});
  }
  EXPECT_EQ(last_errors(*shared_).size(), proxy::DecisionRing::kMostProviders);
}

}  // namespace
}  // namespace rolter::admin
