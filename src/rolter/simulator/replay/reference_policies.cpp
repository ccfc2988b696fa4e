#include "rolter/simulator/replay/reference_policies.h"

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include <algorithm>
#include <array>
#include <chrono>

namespace rolter::simulator::replay {
namespace {

using Engines = std::span<const VirtualEngine>;

/// The replica for which `cost` is least; of several any.
template <typename Cost>
std::size_t cheapest(Engines engines, Rng& rng, Cost cost) {
  std::size_t best = 0;
  std::size_t equals = 1;
  auto least = cost(engines[0]);
  for (std::size_t i = 1; i < engines.size(); ++i) {
    const auto here = cost(engines[i]);
    if (here < least) {
      least = here;
      best = i;
      equals = 1;
    } else if (here == least && uniform_index(rng, ++equals) == 0) {
      best = i;
    }
  }
  return best;
}

std::size_t uncached_tokens(const Arrival& arrival, const VirtualEngine& engine) {
  return arrival.call.input_tokens -
         hit_tokens(arrival.call, engine.expected_blocks(arrival.call.blocks));
}

/// Sends every request where it costs least.
class Cheapest final : public Policy {
 public:
  using Cost = double (*)(const Arrival& arrival, const VirtualEngine& engine);

  explicit Cheapest(Cost cost) : cost_(cost) {}

  std::optional<Choice> choose(const Arrival& arrival, Engines engines, Rng& rng) override {
    const std::size_t replica =
        cheapest(engines, rng, [&](const VirtualEngine& engine) { return cost_(arrival, engine); });
    return Choice{replica, engines[replica].expected_blocks(arrival.call.blocks)};
  }

 private:
  Cost cost_;
};

double queue_seconds(const Arrival& arrival, const VirtualEngine& engine) {
  return std::chrono::duration<double>(engine.queue_time(arrival.now)).count();
}

double own_seconds(const Arrival& arrival, const VirtualEngine& engine) {
  const Duration own = engine.prefill_time(uncached_tokens(arrival, engine));
  return std::chrono::duration<double>(own).count();
}

double ttft(const Arrival& arrival, const VirtualEngine& engine) {
  return queue_seconds(arrival, engine) + own_seconds(arrival, engine);
}

/// Doubled, the own prefill prices what a miss costs others: it evicts and duplicates blocks.
double ttft_twice(const Arrival& arrival, const VirtualEngine& engine) {
  return queue_seconds(arrival, engine) + 2.0 * own_seconds(arrival, engine);
}

/// Prefill tokens that would wait there, times the requests that would be there.
double lmetric(const Arrival& arrival, const VirtualEngine& engine) {
  const double tokens =
      engine.queued_tokens(arrival.now) + static_cast<double>(uncached_tokens(arrival, engine));
  return tokens * (engine.in_flight() + 1.0);
}

/// Blocks to prefill and blocks in use, with this request among them.
double dynamo(const Arrival& arrival, const VirtualEngine& engine) {
  const double prefill =
      (engine.queued_tokens(arrival.now) + static_cast<double>(uncached_tokens(arrival, engine))) /
      static_cast<double>(kTraceBlockTokens);
  return prefill + static_cast<double>(engine.active_blocks() + arrival.call.blocks.size());
}

/// Every call of a conversation goes where its first one went; those are dealt out in turn.
class Session final : public Policy {
 public:
  std::optional<Choice> choose(const Arrival& arrival, Engines engines, Rng& /*rng*/) override {
    const auto [place, is_new] = replica_of_.try_emplace(arrival.session, next_);
    if (is_new) {
      next_ = (next_ + 1) % engines.size();
    }
    return Choice{place->second, engines[place->second].expected_blocks(arrival.call.blocks)};
  }

 private:
  absl::flat_hash_map<std::uint64_t, std::size_t> replica_of_;
  std::size_t next_ = 0;
};

/// SGLang's router: the replica with the longest match if it is over half of the prompt, else the
/// one with the smallest tree; the shortest queue once the queues differ too much. Its trees hold
/// all that was ever sent to a replica.
class SglangLike final : public Policy {
 public:
  explicit SglangLike(std::size_t replicas) : trees_(replicas) {}

  std::optional<Choice> choose(const Arrival& arrival, Engines engines, Rng& rng) override {
    const std::span<const BlockId> chain = arrival.call.blocks;
    const std::size_t replica = place(chain, engines, rng);
    const std::size_t matched = trees_[replica].leading(chain);
    trees_[replica].add(chain);
    return Choice{replica, matched};
  }

 private:
  static constexpr double kThreshold = 0.5;
  static constexpr std::uint32_t kAbsolute = 32;
  static constexpr double kRelative = 1.5;

  class Tree {
   public:
    [[nodiscard]] std::size_t size() const { return blocks_.size(); }
    [[nodiscard]] std::size_t leading(std::span<const BlockId> chain) const {
      const auto missing =
          std::ranges::find_if(chain, [this](BlockId block) { return !blocks_.contains(block); });
      return static_cast<std::size_t>(missing - chain.begin());
    }
    void add(std::span<const BlockId> chain) { blocks_.insert(chain.begin(), chain.end()); }

   private:
    absl::flat_hash_set<BlockId> blocks_;
  };

  std::size_t place(std::span<const BlockId> chain, Engines engines, Rng& rng) const {
    const auto load = [](const VirtualEngine& engine) { return engine.in_flight(); };
    const auto [least, most] = std::ranges::minmax_element(engines, {}, load);
    if (load(*most) - load(*least) > kAbsolute && load(*most) > kRelative * load(*least)) {
      return cheapest(engines, rng, load);
    }
    const auto matched = [&](const VirtualEngine& engine) {
      return static_cast<double>(tree_of(engine, engines).leading(chain));
    };
    const std::size_t best =
        cheapest(engines, rng, [&](const VirtualEngine& engine) { return -matched(engine); });
    if (matched(engines[best]) > kThreshold * static_cast<double>(chain.size())) {
      return best;
    }
    return cheapest(engines, rng,
                    [&](const VirtualEngine& engine) { return tree_of(engine, engines).size(); });
  }

  [[nodiscard]] const Tree& tree_of(const VirtualEngine& engine, Engines engines) const {
    return trees_[static_cast<std::size_t>(&engine - engines.data())];
  }

  std::vector<Tree> trees_;
};

template <Cheapest::Cost cost>
std::unique_ptr<Policy> make_cheapest(std::size_t /*replicas*/) {
  return std::make_unique<Cheapest>(cost);
}

struct KnownPolicy {
  std::string_view name;
  std::unique_ptr<Policy> (*make)(std::size_t replicas);
};

constexpr auto kPolicies = std::to_array<KnownPolicy>({
    {"leastwork", make_cheapest<queue_seconds>},
    {"session", [](std::size_t) -> std::unique_ptr<Policy> { return std::make_unique<Session>(); }},
    {"sglang_like",
     [](std::size_t replicas) -> std::unique_ptr<Policy> {
       return std::make_unique<SglangLike>(replicas);
     }},
    {"dynamo_like", make_cheapest<dynamo>},
    {"lmetric", make_cheapest<lmetric>},
    {"ttft", make_cheapest<ttft>},
    {"ttft_x2", make_cheapest<ttft_twice>},
});

}  // namespace

std::unique_ptr<Policy> make_reference_policy(std::string_view name, std::size_t replicas) {
  const auto row = std::ranges::find(kPolicies, name, &KnownPolicy::name);
  return row == kPolicies.end() ? nullptr : row->make(replicas);
}

std::vector<std::string_view> reference_names() {
  std::vector<std::string_view> names;
  for (const KnownPolicy& row : kPolicies) {
    names.push_back(row.name);
  }
  return names;
}

}  // namespace rolter::simulator::replay
