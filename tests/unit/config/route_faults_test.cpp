// What the loader says of faults in [[routes]], word for word.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/config/loading.h"

namespace rolter::config {
namespace {

using testing::ElementsAre;

class RouteFault : public testing::TestWithParam<LineFault> {};

TEST_P(RouteFault, is_reported_with_its_place_and_the_mend) {
  EXPECT_THAT(errors(with_line(GetParam().line, GetParam().toml)), ElementsAre(GetParam().error));
}

INSTANTIATE_TEST_SUITE_P(
    Keys, RouteFault,
    testing::Values(
        LineFault{5, "", "rolter.toml:4:1: error: routes[0]: \"model\" is missing"},
        LineFault{
            5, "model = \"llama\"\nstrategy = \"cache_awar\"",
            "rolter.toml:6:12: error: routes[0].strategy: unknown strategy \"cache_awar\"; did "
            "you mean \"cache_aware\"?"},
        LineFault{5, "model = \"llama\"\nstrategy = \"best\"",
                  "rolter.toml:6:12: error: routes[0].strategy: unknown strategy \"best\"; known: "
                  "cache_aware, pipeline, precise_cache_aware, lmcache_aware, predicted_ttft, "
                  "round_robin, random, least_load, weighted, power_of_two, consistent_hash"},
        LineFault{
            5, "model = \"llama\"\nshadow = [\"random\", \"pipelin\"]",
            "rolter.toml:6:21: error: routes[0].shadow: unknown strategy \"pipelin\"; did you "
            "mean \"pipeline\"?"},
        LineFault{5, "model = \"llama\"\nthreshold = 1.5",
                  "rolter.toml:6:13: error: routes[0].threshold: must be from 0 to 1, but is 1.5"},
        LineFault{
            5, "model = \"llama\"\nthreshold = -0.1",
            "rolter.toml:6:13: error: routes[0].threshold: must not be negative, but is -0.1"},
        LineFault{5, "model = \"llama\"\nmax_nodes = 0",
                  "rolter.toml:6:13: error: routes[0].max_nodes: must be at least 1, but is 0"},
        LineFault{
            5, "model = \"llama\"\ntokenize = \"on\"",
            "rolter.toml:6:12: error: routes[0].tokenize: unknown setting \"on\"; known: learn, "
            "off"},
        LineFault{5, "model = \"llama\"\nweights = { loda = 1 }",
                  "rolter.toml:6:13: error: routes[0].weights.loda: unknown key; did you mean "
                  "\"load\"?"},
        LineFault{5, "model = \"llama\"\naliases = [\"\"]",
                  "rolter.toml:6:12: error: routes[0].aliases[0]: must not be empty"},
        LineFault{5, "model = \"llama\"\ntreshold = 0.4",
                  "rolter.toml:6:1: error: routes[0].treshold: unknown key; did you mean "
                  "\"threshold\"?"}));

INSTANTIATE_TEST_SUITE_P(
    Targets, RouteFault,
    testing::Values(
        LineFault{7, "provider = \"vllm-2\"",
                  "rolter.toml:7:12: error: routes[0].targets[0].provider: no provider is named "
                  "\"vllm-2\"; did you mean \"vllm-1\"?"},
        LineFault{7, "provider = \"other\"",
                  "rolter.toml:7:12: error: routes[0].targets[0].provider: no provider is named "
                  "\"other\"; there are: vllm-1"},
        LineFault{7, "", "rolter.toml:6:1: error: routes[0].targets[0]: \"provider\" is missing"},
        LineFault{8, "", "rolter.toml:6:1: error: routes[0].targets[0]: \"model\" is missing"},
        LineFault{
            8, "model = \"m\"\nweight = 0",
            "rolter.toml:9:10: error: routes[0].targets[0].weight: must be greater than 0 and "
            "at most 1000000, but is 0"},
        LineFault{
            8, "model = \"m\"\nmax_in_flight = -3",
            "rolter.toml:9:17: error: routes[0].targets[0].max_in_flight: must not be negative, "
            "but is -3"},
        LineFault{8, "model = \"m\"\n[[routes.targets]]\nprovider = \"vllm-1\"\nmodel = \"m\"",
                  "rolter.toml:9:1: error: routes[0].targets[1]: the same provider and model are a "
                  "target of this route already; use weight to give one target more"},
        LineFault{8, "model = \"m\"\n[[routes]]\nmodel = \"empty\"",
                  "rolter.toml:9:1: error: routes[1].targets: the route has no targets; add "
                  "[[routes.targets]] with provider and model"},
        LineFault{8, "model = \"m\"\n[[routes]]\nmodel = \"empty\"\ntargets = []",
                  "rolter.toml:11:11: error: routes[1].targets: the route has no targets; add "
                  "[[routes.targets]] with provider and model"},
        LineFault{8, "model = \"m\"\n[[routes]]\nmodel = \"x\"\ntargets = [1]",
                  "rolter.toml:11:12: error: routes[1].targets[0]: must be a table, but is a whole "
                  "number"}));

}  // namespace
}  // namespace rolter::config
