#include "rolter/balance/session_table.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "rolter/base/random.h"

namespace rolter::balance {
namespace {

using namespace std::chrono_literals;

constexpr ReplicaSlot kA{0};
constexpr ReplicaSlot kB{1};
constexpr TimePoint kStart{1'000s};

TEST(SessionTable, remembers_who_served_last) {
  SessionTable table({});
  EXPECT_EQ(table.find("s", kStart), std::nullopt);
  (void)table.pin("s", kA, kStart);
  (void)table.pin("t", kB, kStart);
  EXPECT_EQ(table.find("s", kStart), kA);
  (void)table.pin("s", kB, kStart);
  EXPECT_EQ(table.find("s", kStart), kB);
  EXPECT_EQ(table.size(), 2U);
}

TEST(SessionTable, each_serve_starts_the_time_anew_and_looking_does_not) {
  SessionTable table({.ttl = 60s});
  (void)table.pin("s", kA, kStart);
  (void)table.pin("s", kA, kStart + 50s);
  EXPECT_EQ(table.find("s", kStart + 109s), kA);
  EXPECT_EQ(table.find("s", kStart + 110s), std::nullopt);
}

TEST(SessionTable, the_one_served_longest_ago_makes_room) {
  SessionTable table({.max_sessions = 2});
  (void)table.pin("first", kA, kStart);
  (void)table.pin("second", kA, kStart);
  (void)table.pin("first", kA, kStart);
  (void)table.pin("third", kA, kStart);
  EXPECT_EQ(table.find("first", kStart), kA);
  EXPECT_EQ(table.find("second", kStart), std::nullopt);
  EXPECT_EQ(table.size(), 2U);
}

TEST(SessionTable, a_million_sessions_take_the_room_of_the_limit) {
  SessionTable table({.max_sessions = 1'000});
  for (int i = 0; i < 1'000'000; ++i) {
    (void)table.pin(std::to_string(i), kA, kStart);
  }
  EXPECT_EQ(table.size(), 1'000U);
  EXPECT_EQ(table.find("999999", kStart), kA);
  EXPECT_EQ(table.find("999000", kStart), kA);
  EXPECT_EQ(table.find("998999", kStart), std::nullopt);
}

TEST(SessionTable, expired_sessions_go_as_new_ones_come) {
  SessionTable table({.ttl = 10s});
  for (int i = 0; i < 100; ++i) {
    (void)table.pin(std::to_string(i), kA, kStart + i * 1s);
  }
  EXPECT_LE(table.size(), 11U);
}

TEST(SessionTable, undoing_a_pin_goes_back_to_the_one_before) {
  SessionTable table({});
  (void)table.pin("s", kA, kStart);
  table.undo(table.pin("s", kB, kStart));
  EXPECT_EQ(table.find("s", kStart), kA);
  table.undo(table.pin("new", kB, kStart));
  EXPECT_EQ(table.find("new", kStart), std::nullopt);
}

TEST(SessionTable, an_old_ticket_does_not_touch_a_newer_pin_or_another_session) {
  SessionTable table({.max_sessions = 1});
  const std::uint64_t old = table.pin("s", kA, kStart);
  (void)table.pin("s", kB, kStart);
  table.undo(old);
  EXPECT_EQ(table.find("s", kStart), kB);
  (void)table.pin("other", kA, kStart);  // in the same cell
  table.undo(old);
  EXPECT_EQ(table.find("other", kStart), kA);
}

TEST(SessionTable, lower_limits_hold_at_once) {
  SessionTable table({});
  for (int i = 0; i < 10; ++i) {
    (void)table.pin(std::to_string(i), kA, kStart);
  }
  table.set_limits({.max_sessions = 3});
  EXPECT_EQ(table.size(), 3U);
  EXPECT_EQ(table.find("9", kStart), kA);
}

/// The oracle: who served each session last, its time, and the order of serves.
TEST(SessionTable, agrees_with_a_plain_map_under_random_use) {
  constexpr std::size_t kMost = 8;
  SessionTable table({.max_sessions = kMost, .ttl = 1'000'000s});
  std::map<std::string, std::pair<ReplicaSlot, int>> naive;
  Rng rng(5);
  for (int i = 0; i < 20'000; ++i) {
    const std::string session(1, static_cast<char>('a' + uniform_index(rng, 16)));
    if (uniform_index(rng, 2) == 0) {
      const ReplicaSlot replica{static_cast<std::uint32_t>(uniform_index(rng, 4))};
      (void)table.pin(session, replica, kStart);
      naive[session] = {replica, i};
      if (naive.size() > kMost) {
        naive.erase(std::ranges::min_element(
            naive, {}, [](const auto& entry) { return entry.second.second; }));
      }
    }
    const auto known = naive.find(session);
    ASSERT_EQ(table.find(session, kStart),
              known == naive.end() ? std::nullopt : std::optional(known->second.first));
    ASSERT_EQ(table.size(), naive.size());
  }
}

TEST(SessionTable, any_thread_may_use_it) {
  SessionTable table({.max_sessions = 50});
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      threads.emplace_back([&table, seed] {
        Rng rng(seed);
        for (int i = 0; i < 5'000; ++i) {
          const std::string session = std::to_string(uniform_index(rng, 100));
          const std::uint64_t ticket = table.pin(session, kA, kStart);
          if (uniform_index(rng, 2) == 0) {
            table.undo(ticket);
          }
          (void)table.find(session, kStart);
        }
      });
    }
  }
  EXPECT_LE(table.size(), 50U);
}

}  // namespace
}  // namespace rolter::balance
