#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "rolter/base/random.h"
#include "rolter/base/snapshot_cell.h"
#include "rolter/cluster/candidate.h"
#include "rolter/cluster/retry_budget.h"
#include "rolter/http/buffer_budget.h"
#include "rolter/http/head.h"
#include "rolter/http/loop.h"
#include "rolter/http/upstream_pool.h"
#include "rolter/openai/request_view.h"
#include "rolter/proxy/decision_ring.h"
#include "rolter/proxy/gateway_state.h"
#include "rolter/proxy/recorder.h"
#include "rolter/proxy/stored_answers.h"
#include "rolter/proxy/unlearned_prompts.h"

namespace rolter::proxy {

/// One loop's connections to one provider, and its view of the provider's addresses.
struct ProviderLink {
  ProviderLink(http::Loop& loop, std::shared_ptr<http::AddressCell> cell)
      : pool(loop), addresses_cell(std::move(cell)), addresses(*addresses_cell) {}

  http::UpstreamPool pool;
  std::shared_ptr<http::AddressCell> addresses_cell;
  SnapshotReader<http::Addresses> addresses;
};

/// What is shared by all loops.
struct SharedState {
  explicit SharedState(std::shared_ptr<const GatewayState> first, std::size_t loops)
      : gateway(first), retry_budget(first->config.retry.budget, loops), decisions(loops) {}

  SnapshotCell<GatewayState> gateway;
  cluster::RetryBudget retry_budget;
  std::vector<DecisionRing> decisions;      // by loop
  std::atomic<std::uint32_t> onlookers{0};  // pages that show decisions as they are made
  StoredAnswers stored_answers;
  std::atomic<bool> draining{false};
  std::atomic<bool> ready{false};
  std::atomic<std::size_t> open_connections{0};
  http::BufferBudget request_buffers;
  UnlearnedPrompts unlearned;
};

/// What the requests on one loop share. One thread.
class LoopState {
 public:
  LoopState(http::Loop& event_loop, std::size_t loop_index, SharedState& shared_state, Rng seeded,
            Recorder& loop_recorder)
      : loop(event_loop),
        index(loop_index),
        shared(shared_state),
        state(shared_state.gateway),
        rng(seeded),
        recorder(loop_recorder) {}

  /// The link to a provider; keep the pointer while using it, a reload may replace the link.
  [[nodiscard]] std::shared_ptr<ProviderLink> link(const Provider& provider, ReplicaSlot slot);

  /// Parses a body. `parses` moves on, and with it every view made before is dead.
  [[nodiscard]] Result<openai::RequestView> parse(openai::Endpoint endpoint,
                                                  std::string_view content_type,
                                                  std::string_view body) {
    ++parses;
    return parser_.parse(endpoint, content_type, body);
  }

  void close_idle_connections();

  /// Whether the client's connection outlives its request, as far as its head and we decide.
  [[nodiscard]] bool keeps_alive(const http::RequestHead& request) const {
    return request.keep_alive && !shared.draining.load(std::memory_order_relaxed);
  }

  /// Whether this pick is to keep its scores, which cost a second look at every target: while
  /// somebody looks on, for ten requests a second.
  [[nodiscard]] bool wants_scores(TimePoint now) {
    constexpr std::chrono::milliseconds kApart{100};
    if (shared.onlookers.load(std::memory_order_relaxed) == 0 || now - scored_at_ < kApart) {
      return false;
    }
    scored_at_ = now;
    return true;
  }

  /// For a request that brings none.
  void make_request_id(std::string& id);

  http::Loop& loop;
  std::size_t index;
  SharedState& shared;
  SnapshotReader<GatewayState> state;
  Rng rng;
  Recorder& recorder;
  std::uint64_t parses = 0;

  // Working memory between two suspension points.
  std::vector<cluster::Candidate> candidates;
  std::string head;
  std::string turn;

 private:
  TimePoint scored_at_{};
  openai::RequestParser parser_;
  std::vector<std::shared_ptr<ProviderLink>> links_;  // by replica slot
};

}  // namespace rolter::proxy
