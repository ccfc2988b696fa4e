#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "rolter/feeds/kv_events.h"
#include "rolter/kvcache/block_index.h"
#include "tests/fakes/event_publisher.h"
#include "tests/fakes/real_clock.h"
#include "tests/fakes/stored_blocks.h"

namespace rolter::feeds {

/// A KV event feed on a thread of its own, whose index the test looks into.
class KvFeedTest : public ::testing::Test {
 protected:
  ~KvFeedTest() override {
    feed_.stop();
    thread_.join();
    EXPECT_EQ(index_.stats().pairs, 0U) << "the end of the feed leaves blocks behind";
  }

  static std::shared_ptr<http::AddressCell> cell(std::initializer_list<const char*> addresses) {
    http::Addresses found;
    for (const char* address : addresses) {
      found.emplace_back(http::asio::ip::make_address(address), 0);
    }
    return std::make_shared<http::AddressCell>(std::make_shared<const http::Addresses>(found));
  }

  ZmqServer server(std::uint16_t port, std::shared_ptr<http::AddressCell> addresses = nullptr) {
    return {.host = "replica.test",
            .port = port,
            .addresses = addresses ? std::move(addresses) : cell({"127.0.0.1"}),
            .egress = egress_};
  }

  KvSource source_at(std::uint16_t port, std::optional<std::uint16_t> replay_port) {
    KvSource source;
    source.provider = "gpu-1";
    source.events = server(port);
    if (replay_port) {
      source.replay = server(*replay_port);
    }
    return source;
  }
  KvSource source_of(const fakes::EventPublisher& publisher) {
    return source_at(publisher.port(), publisher.replay_port());
  }

  /// Follows these; returns when that is in force.
  void follow(std::vector<KvSource> sources) {
    std::promise<void> in_force;
    feed_.watch(std::move(sources), [&in_force] { in_force.set_value(); });
    in_force.get_future().wait();
  }

  /// The status of the stream; of a provider or rank that is not followed: a failure.
  KvStreamStatus status(std::uint32_t rank = 0) {
    for (KvStreamStatus& status : feed_.status()) {
      if (status.rank == rank) {
        return std::move(status);
      }
    }
    ADD_FAILURE() << "no stream of rank " << rank;
    return {};
  }

  void await(const std::function<bool()>& happened, const std::string& what) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds{20};
    std::unique_lock lock(mutex_);
    while (!happened()) {
      ASSERT_LT(std::chrono::steady_clock::now(), limit) << "it did not happen: " << what;
      nothing_.wait_for(lock, std::chrono::milliseconds{2});
    }
  }
  void await_state(kvcache::StreamState state, std::uint32_t rank = 0) {
    await([&] { return status(rank).state == state; }, std::string(to_string(state)));
  }
  /// Until that many batches have been applied, and none is missing.
  void await_batches(std::uint64_t batches, std::uint32_t rank = 0) {
    await(
        [&] {
          const KvStreamStatus now = status(rank);
          return now.batches.batches >= batches && is_usable(now.state);
        },
        std::to_string(batches) + " batches");
  }
  void await_notice(const std::string& text) {
    await([&] { return notices_with(text) > 0; }, "a notice \"" + text + "\"");
  }
  std::size_t notices_with(const std::string& text) {
    const std::lock_guard lock(notices_mutex_);
    return static_cast<std::size_t>(std::ranges::count_if(notices_, [&](const std::string& notice) {
      return notice.find(text) != std::string::npos;
    }));
  }
  std::vector<std::string> notices() {
    const std::lock_guard lock(notices_mutex_);
    return notices_;
  }

  /// The one stream of the replica's rank.
  std::optional<kvcache::BlockIndex::StreamView> view(std::uint32_t rank = 0) {
    std::vector<kvcache::BlockIndex::StreamView> views;
    const kvcache::BlockIndex::ReplicaQuery query{.replica = ReplicaSlot{0}, .model = {}};
    index_.streams_of({&query, 1}, views);
    for (const auto& each : views) {
      if (each.rank == rank) {
        return each;
      }
    }
    return std::nullopt;
  }
  /// Leading blocks of the prompt that count for the replica; 0 as well when it is not usable.
  std::uint32_t resident(const std::vector<TokenId>& prompt, std::uint32_t block_size,
                         const kvcache::PromptExtras& extras = {}) {
    const auto stream = view();
    return stream ? fakes::resident(index_, stream->stream, prompt, block_size, extras) : 0;
  }

  std::thread& thread() { return thread_; }

  kvcache::BlockIndex index_;
  http::EgressCheck egress_ = [](const http::Endpoint&) { return Result<void>{}; };

 private:
  fakes::RealClock clock_;
  std::mutex notices_mutex_;
  std::vector<std::string> notices_;
  std::mutex mutex_;
  std::condition_variable nothing_;

 protected:
  KvEventFeed feed_{index_, clock_, Rng{1}, [this](const KvNotice& notice) {
                      const std::lock_guard lock(notices_mutex_);
                      notices_.emplace_back(notice.text);
                    }};

 private:
  std::thread thread_{[this] { feed_.run(); }};
};

}  // namespace rolter::feeds
