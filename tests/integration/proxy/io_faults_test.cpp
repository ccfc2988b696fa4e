// A request while one of the gateway's socket calls fails: each of them in turn.
#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <iterator>
#include <string>

#include "tests/fakes/faulty_replica.h"
#include "tests/fakes/io_faults.h"
#include "tests/fakes/raw_client.h"
#include "tests/integration/balance/gateway_fixture.h"

namespace rolter::runtime {
namespace {

using fakes::IoFaults;

struct Case {
  std::string name;
  IoFaults faults;
  bool streamed;
  std::size_t prompt_bytes;
  std::size_t targets;
};

class IoFault : public GatewayTest, public testing::WithParamInterface<Case> {
 protected:
  void SetUp() override {
    config::Config config = base_config();
    config.health.enabled = false;
    add_route(config, "m");
    for (std::size_t i = 0; i < GetParam().targets; ++i) {
      add_target(config, "r" + std::to_string(i), replicas_[i].port());
    }
    ASSERT_NO_FATAL_FAILURE(start(std::move(config)));
    reference_ = request();
    ASSERT_EQ(reference_.status, 200);
    ASSERT_TRUE(reference_.complete);
  }

  fakes::RawAnswer request() {
    return post("/v1/chat/completions", R"({"model":"m","stream":)" +
                                            std::string(GetParam().streamed ? "true" : "false") +
                                            R"(,"messages":[{"role":"user","content":")" +
                                            std::string(GetParam().prompt_bytes, 'p') + R"("}]})");
  }

  /// Either the whole right answer, or something that cannot be taken for it.
  void expect_right_or_broken(const fakes::RawAnswer& answer) const {
    if (answer.status == 200 && answer.complete) {
      EXPECT_EQ(answer.body, reference_.body);
    } else if (answer.complete) {
      EXPECT_GE(answer.status, 400);
      EXPECT_NE(answer.body.find("\"error\""), std::string::npos) << answer.body;
    }
  }

  static std::size_t open_descriptors() {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }

  fakes::FaultyReplica replicas_[2];
  fakes::RawAnswer reference_;
};

TEST_P(IoFault, harms_at_most_its_own_request) {
  constexpr std::size_t kMostCalls = 200;
  const std::size_t descriptors = open_descriptors();
  std::size_t nth = 1;
  for (;; ++nth) {
    SCOPED_TRACE("call " + std::to_string(nth));
    ASSERT_LT(nth, kMostCalls) << "the request never ends";
    fakes::fail_io(GetParam().faults, nth);
    const fakes::RawAnswer answer = request();
    const bool undisturbed = fakes::mend_io() == 0;
    expect_right_or_broken(answer);
    expect_no_load();
    const fakes::RawAnswer next = request();
    EXPECT_EQ(next.status, 200);
    EXPECT_EQ(next.body, reference_.body);
    if (undisturbed) {
      EXPECT_EQ(answer.status, 200);
      break;
    }
  }
  EXPECT_GT(nth, 6U) << "accept, two of recv and of sendmsg are the least that there is";
  await([&] { return open_descriptors() <= descriptors + 4; });
}

INSTANTIATE_TEST_SUITE_P(
    Everywhere, IoFault,
    testing::Values(Case{"once", IoFaults::kOne, false, 20, 1},
                    Case{"once_and_another_target", IoFaults::kOne, false, 20, 2},
                    Case{"once_in_a_stream", IoFaults::kOne, true, 20, 1},
                    Case{"once_in_a_long_upload", IoFaults::kOne, false, 400'000, 2},
                    Case{"from_then_on", IoFaults::kFromOne, false, 20, 2},
                    Case{"from_then_on_in_a_stream", IoFaults::kFromOne, true, 20, 2}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace rolter::runtime
