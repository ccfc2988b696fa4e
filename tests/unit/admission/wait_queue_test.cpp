#include "rolter/admission/wait_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "rolter/admission/wait_queues.h"

namespace rolter::admission {
namespace {

/// Requests that note by name when they are woken.
class WaitQueueTest : public testing::Test {
 protected:
  WaitQueue::Ticket join(const std::string& key, const std::string& name) {
    return queue_->join(key, [this, name] { woken_.push_back(name); });
  }

  std::shared_ptr<WaitQueue> queue_ = std::make_shared<WaitQueue>(4);
  std::vector<std::string> woken_;
};

using Names = std::vector<std::string>;

TEST_F(WaitQueueTest, WhoeverJoinsAnEmptyQueueIsWokenToLookOnceMore) {
  const auto a = join("k", "a");
  EXPECT_EQ(woken_, Names{"a"});
}

TEST_F(WaitQueueTest, AFreedPlaceWakesTheHeadUntilItLeaves) {
  auto a = join("k", "a");
  const auto b = join("k", "b");
  woken_.clear();
  queue_->place_freed();
  queue_->place_freed();
  EXPECT_EQ(woken_, (Names{"a", "a"}));
}

TEST_F(WaitQueueTest, TheHeadWakesTheNextWhenItLeaves) {
  auto a = join("k", "a");
  const auto b = join("k", "b");
  woken_.clear();
  a = {};
  EXPECT_EQ(woken_, Names{"b"});
}

TEST_F(WaitQueueTest, WhoeverLeavesFromTheMiddleWakesNobody) {
  const auto a = join("k", "a");
  auto b = join("k", "b");
  woken_.clear();
  b = {};
  EXPECT_TRUE(woken_.empty());
}

TEST_F(WaitQueueTest, AFreedPlaceWithoutAnyoneWaitingDoesNothing) {
  queue_->place_freed();
  EXPECT_TRUE(woken_.empty());
}

TEST_F(WaitQueueTest, KeysTakeTurns) {
  std::map<std::string, WaitQueue::Ticket> tickets;
  for (const char* name : {"a1", "a2", "a3", "b1"}) {
    tickets.emplace(name, join(std::string(1, name[0]), name));
  }
  woken_.clear();
  queue_->place_freed();
  while (!tickets.empty()) {
    tickets.erase(woken_.back());  // the head is served
  }
  EXPECT_EQ(woken_, (Names{"a1", "b1", "a2", "a3"}));
}

TEST_F(WaitQueueTest, NoMoreWaitThanItHolds) {
  std::vector<WaitQueue::Ticket> tickets;
  for (int i = 0; i < 4; ++i) {
    tickets.push_back(join("k", "x"));
    EXPECT_TRUE(tickets.back().holds());
  }
  EXPECT_FALSE(join("other", "y").holds());
  EXPECT_EQ(queue_->waiting(), 4u);
  tickets.pop_back();
  EXPECT_TRUE(join("other", "y").holds());
}

TEST_F(WaitQueueTest, ATicketOutlivesItsQueuesOwner) {
  auto a = join("k", "a");
  const auto b = join("k", "b");
  queue_.reset();
  a = {};
  EXPECT_EQ(woken_.back(), "b");
}

TEST_F(WaitQueueTest, NoPlaceIsOverlookedBetweenThreads) {
  // Two places for eight threads: were one wake-up lost, they would stand still for ever.
  constexpr int kThreads = 8;
  constexpr int kRounds = 500;
  auto queue = std::make_shared<WaitQueue>(kThreads);
  std::atomic<int> places{2};
  const auto take = [&places] {
    int free = places.load();
    while (free > 0 && !places.compare_exchange_weak(free, free - 1)) {
    }
    return free > 0;
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, key = std::to_string(t % 3)] {
      for (int i = 0; i < kRounds; ++i) {
        std::atomic<int> wakes{0};
        auto ticket = queue->join(key, [&wakes] {
          wakes.fetch_add(1);
          wakes.notify_one();
        });
        int seen = 0;
        do {
          wakes.wait(seen);
          seen = wakes.load();
        } while (!take());
        ticket = {};
        places.fetch_add(1);
        queue->place_freed();
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(places.load(), 2);
  EXPECT_EQ(queue->waiting(), 0u);
}

TEST(WaitQueues, ARouteHasAQueueWhenATargetHasACapAndKeepsItOverReloads) {
  config::Config config;
  config.routes.resize(2);
  config.routes[0].model = "capped";
  config.routes[0].queue.capacity = 1;
  config.routes[0].targets.resize(1);
  config.routes[0].targets[0].max_in_flight = 3;
  config.routes[1].model = "free";
  config.routes[1].targets.resize(1);
  WaitQueues queues;
  queues.apply(config);
  EXPECT_EQ(queues.find("free"), nullptr);
  const auto queue = queues.find("capped");
  ASSERT_NE(queue, nullptr);
  const auto first = queue->join("k", [] {});
  EXPECT_FALSE(queue->join("k", [] {}).holds());
  config.routes[0].queue.capacity = 2;
  queues.apply(config);
  EXPECT_EQ(queues.find("capped"), queue);
  EXPECT_TRUE(queue->join("k", [] {}).holds());
  config.routes.erase(config.routes.begin());
  queues.apply(config);
  EXPECT_EQ(queues.find("capped"), nullptr);
}

}  // namespace
}  // namespace rolter::admission
