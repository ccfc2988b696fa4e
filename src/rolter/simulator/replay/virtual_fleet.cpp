#include "rolter/simulator/replay/virtual_fleet.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <queue>
#include <tuple>
#include <vector>

namespace rolter::simulator::replay {
namespace {

/// Virtual time begins here, well after the epoch, which strategies take for "long ago".
constexpr TimePoint kStart{std::chrono::hours(1)};
constexpr std::size_t kReports = 200;  // of progress per run

Duration from_seconds(double seconds) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

double to_seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

struct Event {
  enum class Kind : std::uint8_t { kArrival, kPrefilled, kEnded };
  TimePoint at;
  std::uint64_t order;  // of events at one moment: the one scheduled first comes first
  Kind kind;
  RequestId request;

  bool operator>(const Event& other) const {
    return std::tie(at, order) > std::tie(other.at, other.order);
  }
};

/// One request from its arrival to its end.
struct Live {
  std::uint32_t chain = 0;
  std::uint32_t call = 0;
  std::uint32_t replica = 0;
  std::uint32_t hit_blocks = 0;
  TimePoint arrived{};
  std::optional<std::size_t> expected_blocks{};
};

class Run {
 public:
  Run(const Workload& workload, const FleetShape& shape, const Pace& pace, Policy& policy)
      : workload_(workload), shape_(shape), pace_(pace), policy_(policy), rng_(pace.seed) {
    for (std::size_t i = 0; i < shape.replicas; ++i) {
      engines_.emplace_back(shape.engine_of(i), workload.known_blocks);
    }
    outcome_.replicas.resize(shape.replicas);
    live_.reserve(workload.requests);
    for (std::size_t chain = 0; chain < workload.chains.size(); ++chain) {
      first_request_.push_back(static_cast<RequestId>(live_.size()));
      for (std::size_t call = 0; call < workload.chains[chain].calls.size(); ++call) {
        live_.push_back(
            {.chain = static_cast<std::uint32_t>(chain), .call = static_cast<std::uint32_t>(call)});
      }
    }
  }

  Outcome play(const Progress& progress) {
    for (std::size_t chain = 0; chain < workload_.chains.size(); ++chain) {
      const TraceChain& calls = workload_.chains[chain];
      if (!calls.calls.empty()) {
        const double start = calls.start_s / pace_.load;
        schedule(kStart + from_seconds(start + calls.calls.front().delay_s), Event::Kind::kArrival,
                 first_request_[chain]);
      }
    }
    const std::size_t step = std::max<std::size_t>(workload_.requests / kReports, 1);
    std::size_t reported = 0;
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      handle(event);
      if (progress && ended_ >= reported + step) {
        reported = ended_;
        progress(reported);
      }
    }
    if (pace_.settles_after && since_eviction_ <= *pace_.settles_after) {
      begin_to_count();  // it has never settled
    }
    for (std::size_t i = 0; i < outcome_.replicas.size(); ++i) {
      outcome_.replicas[i].believed_blocks = policy_.believed_blocks(i);
    }
    std::ranges::sort(outcome_.ttft_s);
    outcome_.seconds = to_seconds(last_ - first_.value_or(last_));
    return std::move(outcome_);
  }

 private:
  void handle(const Event& event) {
    switch (event.kind) {
      case Event::Kind::kArrival:
        arrive(event.request, event.at);
        break;
      case Event::Kind::kPrefilled:
        prefilled(event.request, event.at);
        break;
      case Event::Kind::kEnded:
        end(event.request, event.at);
        break;
    }
  }

  void arrive(RequestId request, TimePoint now) {
    Live& live = live_[request];
    const TraceCall& call = call_of(live);
    live.arrived = now;
    first_ = first_.value_or(now);
    last_ = std::max(last_, now);
    const auto choice = policy_.choose({.request = request,
                                        .call = call,
                                        .session = session_of(workload_, live.chain, call),
                                        .session_named = workload_.has_sessions,
                                        .now = now},
                                       engines_, rng_);
    if (!choice) {
      ++outcome_.refused;
      schedule_next(live, now);
      return;
    }
    live.replica = static_cast<std::uint32_t>(choice->replica);
    live.expected_blocks = choice->expected_blocks;
    if (live.call > 0) {
      ++outcome_.follow_ups;
      outcome_.returned += live_[request - 1].replica == live.replica ? 1 : 0;
    }
    engines_[live.replica].arrive(request, call);
    start(live.replica, now);
  }

  void start(std::size_t replica, TimePoint now) {
    VirtualEngine& engine = engines_[replica];
    if (!engine.can_start()) {
      return;
    }
    change_.clear();
    const VirtualEngine::Prefill prefill = engine.start(now, change_);
    Live& live = live_[prefill.request];
    const TraceCall& call = call_of(live);
    live.hit_blocks = static_cast<std::uint32_t>(prefill.hit_blocks);
    policy_.cache_changed(replica, call.blocks, change_, now);
    settle();
    outcome_.prompt_tokens += call.input_tokens;
    outcome_.hit_tokens += call.input_tokens - prefill.computed_tokens;
    outcome_.replicas[replica].computed_prefill_tokens += prefill.computed_tokens;
    if (live.expected_blocks) {
      outcome_.forecast.add(*live.expected_blocks, prefill.hit_blocks);
      outcome_.replicas[replica].forecast.add(*live.expected_blocks, prefill.hit_blocks);
    }
    schedule(prefill.ends_at, Event::Kind::kPrefilled, prefill.request);
  }

  /// Forgets what was counted before the fleet had settled.
  void settle() {
    evicting_ = evicting_ || !change_.removed.empty();
    if (evicting_ && pace_.settles_after && since_eviction_++ == *pace_.settles_after) {
      begin_to_count();
    }
  }

  void begin_to_count() {
    outcome_ = {};
    outcome_.replicas.resize(shape_.replicas);
    first_.reset();
  }

  void prefilled(RequestId request, TimePoint now) {
    const Live& live = live_[request];
    outcome_.ttft_s.push_back(to_seconds(now - live.arrived));
    policy_.first_token(answer_of(request, now));
    schedule(now + shape_.engine.per_token * static_cast<std::int64_t>(call_of(live).output_tokens),
             Event::Kind::kEnded, request);
    engines_[live.replica].prefilled();
    start(live.replica, now);
  }

  void end(RequestId request, TimePoint now) {
    const Live& live = live_[request];
    const TraceCall& call = call_of(live);
    change_.clear();
    engines_[live.replica].finish(call, change_);
    if (!call.reply.empty()) {
      policy_.cache_changed(live.replica, whole_chain(call), change_, now);
    }
    policy_.ended(answer_of(request, now));
    ++ended_;
    ++outcome_.requests;
    ++outcome_.replicas[live.replica].requests;
    outcome_.generated_tokens += call.output_tokens;
    last_ = std::max(last_, now);
    schedule_next(live, now);
  }

  void schedule_next(const Live& live, TimePoint now) {
    const TraceChain& chain = workload_.chains[live.chain];
    if (live.call + 1 < chain.calls.size()) {
      schedule(now + from_seconds(chain.calls[live.call + 1].delay_s), Event::Kind::kArrival,
               first_request_[live.chain] + live.call + 1);
    }
  }

  [[nodiscard]] Answer answer_of(RequestId request, TimePoint now) const {
    const Live& live = live_[request];
    const TraceCall& call = call_of(live);
    return {.request = request,
            .call = call,
            .replica = live.replica,
            .prompt_tokens = call.input_tokens,
            .cached_tokens = hit_tokens(call, live.hit_blocks),
            .now = now};
  }

  [[nodiscard]] const TraceCall& call_of(const Live& live) const {
    return workload_.chains[live.chain].calls[live.call];
  }

  void schedule(TimePoint at, Event::Kind kind, RequestId request) {
    events_.push({.at = at, .order = next_order_++, .kind = kind, .request = request});
  }

  const Workload& workload_;
  const FleetShape& shape_;
  const Pace& pace_;
  Policy& policy_;
  Rng rng_;
  std::vector<VirtualEngine> engines_;
  std::vector<Live> live_;
  std::vector<RequestId> first_request_;  // of each chain
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t next_order_ = 0;
  CacheChange change_;
  std::size_t ended_ = 0;
  bool evicting_ = false;
  std::size_t since_eviction_ = 0;  // prompts started
  Outcome outcome_;
  std::optional<TimePoint> first_;
  TimePoint last_ = kStart;
};

}  // namespace

Outcome play(const Workload& workload, const FleetShape& shape, const Pace& pace, Policy& policy,
             const Progress& progress) {
  return Run(workload, shape, pace, policy).play(progress);
}

}  // namespace rolter::simulator::replay
