#include "rolter/feeds/poll_group.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/deferred.hpp>
#include <chrono>
#include <utility>

namespace rolter::feeds {
namespace {

namespace asio = boost::asio;

/// How often a waiting poller looks whether its interval has become shorter: a replica that refuses
/// a request is then asked every second from within half a second on.
constexpr Duration kRecheck = std::chrono::milliseconds{500};
constexpr double kJitter = 0.1;
/// Whatever the configuration says: no poll may keep a loop busy.
constexpr Duration kShortestInterval = std::chrono::milliseconds{20};

}  // namespace

/// Counts down the replicas that have not been asked yet.
struct PollGroup::FirstRound {
  std::size_t left = 0;
  std::function<void()> done;

  void one_less() {
    if (--left == 0 && done) {
      std::exchange(done, nullptr)();
    }
  }
};

struct PollGroup::Poller {
  Poller(http::Loop& loop, PollPlan first)
      : plan(std::move(first)), get(loop), timer(loop.io().get_executor()) {}

  void stop() {
    stopped = true;
    get.abort();
    timer.cancel();
    asked();
  }

  void asked() {
    if (first_round) {
      std::exchange(first_round, nullptr)->one_less();
    }
  }

  PollPlan plan;
  HttpGet get;
  http::LoopTimer timer;
  std::shared_ptr<FirstRound> first_round;
  bool stopped = false;
};

PollGroup::PollGroup(std::string_view name, http::Loop& loop, http::TaskScope& scope, Rng seeded)
    : name_(name), loop_(loop), scope_(scope), rng_(std::make_shared<Rng>(seeded)) {}

PollGroup::~PollGroup() {
  stop();
}

void PollGroup::watch(std::vector<PollPlan> plans, std::function<void()> first_done) {
  const auto round = std::make_shared<FirstRound>(
      FirstRound{.left = plans.size() + 1, .done = std::move(first_done)});
  std::vector<std::shared_ptr<Poller>> before = std::exchange(pollers_, {});
  for (PollPlan& plan : plans) {
    const auto same = std::ranges::find_if(
        before, [&](const auto& poller) { return poller && poller->plan.replica == plan.replica; });
    std::shared_ptr<Poller> poller;
    if (same != before.end()) {
      poller = std::exchange(*same, nullptr);
      poller->asked();  // whoever waited for it in an earlier round need not wait for another one
      poller->plan = std::move(plan);
      poller->timer.cancel();  // a shorter interval counts from now on
    } else {
      poller = std::make_shared<Poller>(loop_, std::move(plan));
    }
    poller->first_round = round;
    pollers_.push_back(poller);
    if (same == before.end()) {
      scope_.spawn(name_, poll(std::move(poller)));
    }
  }
  for (const auto& gone : before) {
    if (gone) {
      gone->stop();
    }
  }
  round->one_less();
}

void PollGroup::stop() {
  for (const auto& poller : std::exchange(pollers_, {})) {
    poller->stop();
  }
}

http::Task<> PollGroup::poll(std::shared_ptr<Poller> poller) {
  while (!poller->stopped) {
    const TimePoint started = loop_.now();
    // A reload may replace the plan while the answer is awaited: this round keeps its own.
    const PollPlan plan = poller->plan;
    plan.on_start();
    const Result<GetAnswer> answer =
        co_await poller->get.run(plan.source, render_get(plan.source, plan.path), plan.limits);
    if (poller->stopped) {
      co_return;
    }
    plan.on_answer(answer);
    poller->asked();
    co_await wait(poller, started);
  }
}

http::Task<> PollGroup::wait(std::shared_ptr<Poller> poller, TimePoint started) {
  const double jitter = 1.0 - kJitter + 2 * kJitter * uniform_unit(*rng_);
  while (!poller->stopped) {
    const Duration planned = std::max(poller->plan.interval(), kShortestInterval);
    const auto interval = std::chrono::duration_cast<Duration>(planned * jitter);
    const Duration left = started + interval - loop_.now();
    if (left <= Duration::zero()) {
      co_return;
    }
    poller->timer.expires_after(std::min(left, kRecheck));
    co_await poller->timer.async_wait(asio::as_tuple(asio::deferred));
  }
}

}  // namespace rolter::feeds
