#include "rolter/admin/residency_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rolter/proxy/state_builder.h"
#include "tests/fakes/stored_blocks.h"

namespace rolter::admin {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(ResidencyView, tells_the_blocks_of_each_rank_of_all_providers_or_of_one) {
  telemetry::MetricsRegistry metrics(1, {}, {});
  proxy::StateBuilder builder(metrics, 1);
  config::Config config;
  for (const char* const name : {"a", "b"}) {
    config.providers.emplace_back().name = name;
    config.providers.back().api_base.host = "127.0.0.1";
  }
  const auto state =
      builder.build(std::move(config), {.server = {}, .clients = {{}, {}}}, TimePoint{}).state;
  kvcache::Residency& residency = *builder.residency();
  const auto stream =
      residency.index.add_stream({.replica = state->cluster->replicas[1]->slot(), .rank = 0})
          .value();
  residency.index.set_usable(stream, true);
  fakes::StoredBlocks{.hashes = {1, 2, 3}, .tokens = {7, 8, 9}}.apply(residency.index, stream);

  const std::string all = residency_json(*state, residency, "");
  EXPECT_THAT(all, HasSubstr(R"({"target":"a","ranks":[]})"));
  EXPECT_THAT(all, HasSubstr(R"({"target":"b","ranks":[{"rank":0,"usable":true,"hybrid":false,)"
                             R"("block_size":1,"blocks":3,)"));
  EXPECT_THAT(all, HasSubstr(R"("learned":{"prompts":0,)"));
  const std::string one = residency_json(*state, residency, "b");
  EXPECT_THAT(one, HasSubstr(R"("target":"b")"));
  EXPECT_THAT(one, Not(HasSubstr(R"("target":"a")")));
}

}  // namespace
}  // namespace rolter::admin
