#include "rolter/simulator/replay/strategy_policy.h"

#include <absl/container/flat_hash_map.h>

#include <string>
#include <utility>
#include <vector>

#include "rolter/balance/session_tables.h"
#include "rolter/balance/strategies.h"
#include "rolter/cluster/cluster_view.h"
#include "rolter/cluster/replica_registry.h"
#include "rolter/kvcache/prefix_trees.h"
#include "rolter/kvcache/residency.h"
#include "rolter/simulator/replay/engine_events.h"
#include "rolter/simulator/replay/shrunk_blocks.h"

namespace rolter::simulator::replay {
namespace {

config::Config config_of(const StrategyOptions& options) {
  config::Config config;
  config::Route& route = config.routes.emplace_back();
  route.model = "model";
  route.strategy = options.kind;
  for (std::size_t i = 0; i < options.replicas; ++i) {
    config.providers.emplace_back().name = "r" + std::to_string(i);
    route.targets.push_back(
        {.provider = i, .model = "model", .max_in_flight = options.max_in_flight});
  }
  return config;
}

/// What a gateway keeps beside the strategy.
class StrategyPolicy final : public Policy {
 public:
  StrategyPolicy(const StrategyOptions& options, const config::Config& config)
      : view_(registry_.apply(config, TimePoint{}).view),
        residency_(std::make_shared<kvcache::Residency>()),
        records_replies_(options.record_replies),
        reports_cached_(options.reports_cached) {
    trees_.apply(balance::prefix_tree_demands(config));
    tree_ = trees_.find(config.routes.front().targets.front().model);
    sessions_.apply(balance::session_table_demands(config));
    strategy_ = balance::make_strategy({.route = config.routes.front(),
                                        .targets = targets().targets,
                                        .trees = trees_,
                                        .sessions = sessions_,
                                        .residency = residency_,
                                        .queues = std::make_shared<balance::PrefillQueues>()});
    if (tree_ != nullptr && options.believed_blocks > 0) {
      for (const auto& replica : view_->replicas) {
        tree_->believe(replica->slot(), options.believed_blocks * kShrunkBlockBytes);
      }
    }
    if (options.index_lag) {
      events_.emplace(residency_, options.replicas, *options.index_lag);
    }
  }

  [[nodiscard]] bool has_strategy() const { return strategy_ != nullptr; }

  std::optional<Choice> choose(const Arrival& arrival, std::span<const VirtualEngine> /*engines*/,
                               Rng& rng) override {
    if (events_) {
      events_->deliver(arrival.now);
    }
    cluster::eligible_targets(targets(), arrival.now, {}, candidates_);
    if (candidates_.empty()) {
      return std::nullopt;
    }
    write_prompt(arrival);
    balance::PickInput in{.eligible = candidates_,
                          .prompt = {.root = 1, .text = text_},
                          .token_ids = tokens_,
                          .session = session_,
                          .now = arrival.now};
    const balance::Decision decision = strategy_->pick(in, rng, nullptr);
    const cluster::RouteTarget& target = targets().targets[decision.target];
    const cluster::Candidate chosen{
        .target = decision.target, .replica = target.replica->slot(), .rank = decision.rank};
    in.decided = &decision;
    Sent& sent = sent_[arrival.request];
    sent.lease = cluster::Lease::acquire(*target.replica, target.load->in_flight, target.cap);
    sent.record = strategy_->record(in, chosen);
    return Choice{decision.target, expected_blocks(decision)};
  }

  void first_token(const Answer& answer) override {
    sent_.at(answer.request).record.keep(answer.now);
  }

  void ended(const Answer& answer) override {
    const auto sent = sent_.find(answer.request);
    if (records_replies_ && strategy_->remembers_replies() && !answer.call.reply.empty()) {
      text_.clear();
      for (const BlockId block : answer.call.reply) {
        append_text(block, text_);
      }
      sent->second.record.reply(text_);
    }
    balance::PromptUsage usage{.prompt_tokens = answer.prompt_tokens / kTraceShrink};
    if (reports_cached_) {
      usage.cached_tokens = answer.cached_tokens / kTraceShrink;
    }
    sent->second.record.report(usage);
    sent->second.record.end(answer.now);
    sent_.erase(sent);
  }

  [[nodiscard]] std::optional<std::size_t> believed_blocks(std::size_t replica) const override {
    return tree_ == nullptr ? std::nullopt
                            : std::optional(tree_->held_bytes(view_->replicas[replica]->slot()) /
                                            kShrunkBlockBytes);
  }

  void cache_changed(std::size_t replica, std::span<const BlockId> chain, const CacheChange& change,
                     TimePoint now) override {
    if (events_) {
      events_->changed(replica, chain, change, now);
    }
  }

 private:
  struct Sent {
    cluster::Lease lease;
    balance::Record record;
  };

  [[nodiscard]] const cluster::RouteTargets& targets() const { return view_->routes.front(); }

  void write_prompt(const Arrival& arrival) {
    text_.clear();
    tokens_.clear();
    for (const BlockId block : arrival.call.blocks) {
      append_text(block, text_);
      if (events_) {
        append_tokens(block, tokens_);
      }
    }
    session_ = arrival.session_named ? std::to_string(arrival.session) : std::string();
  }

  /// Absent when the strategy looks at no cache.
  [[nodiscard]] std::optional<std::size_t> expected_blocks(
      const balance::Decision& decision) const {
    if (decision.cached_tokens) {
      return *decision.cached_tokens / kShrunkBlockTokens;
    }
    return tree_ != nullptr ? std::optional(decision.matched_units / kShrunkBlockBytes)
                            : std::nullopt;
  }

  cluster::ReplicaRegistry registry_;
  std::shared_ptr<const cluster::ClusterView> view_;
  kvcache::PrefixTrees trees_;
  balance::SessionTables sessions_;
  std::shared_ptr<kvcache::Residency> residency_;
  std::unique_ptr<balance::Strategy> strategy_;
  bool records_replies_;
  bool reports_cached_;
  std::shared_ptr<kvcache::PrefixTree> tree_;  // null when the strategy has none
  std::optional<EngineEvents> events_;
  std::vector<cluster::Candidate> candidates_;
  std::string text_;
  std::string session_;
  std::vector<TokenId> tokens_;
  absl::flat_hash_map<RequestId, Sent> sent_;  // after what its records and leases refer to
};

}  // namespace

std::unique_ptr<Policy> make_strategy_policy(const StrategyOptions& options) {
  auto policy = std::make_unique<StrategyPolicy>(options, config_of(options));
  return policy->has_strategy() ? std::move(policy) : nullptr;
}

}  // namespace rolter::simulator::replay
