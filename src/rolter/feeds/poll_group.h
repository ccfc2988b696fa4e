#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rolter/base/error.h"
#include "rolter/base/random.h"
#include "rolter/cluster/replica.h"
#include "rolter/feeds/http_get.h"
#include "rolter/http/loop.h"
#include "rolter/http/task_scope.h"

namespace rolter::feeds {

/// One replica to ask again and again.
struct PollPlan {
  std::shared_ptr<cluster::Replica> replica;
  HttpSource source;
  std::string path;
  GetLimits limits;
  /// From the start of one round to the next; asked anew while waiting, so that it may shorten.
  std::function<Duration()> interval;
  /// Before the request is sent.
  std::function<void()> on_start;
  std::function<void(const Result<GetAnswer>&)> on_answer;
};

/// Asks each replica of a set at its own interval, give or take a tenth, so that gateways and
/// replicas do not fall into step. One question at a time per replica: one that hangs costs its
/// timeout and holds up nobody. Lives on one loop.
class PollGroup {
 public:
  /// `name` must be a literal.
  PollGroup(std::string_view name, http::Loop& loop, http::TaskScope& scope, Rng seeded);
  ~PollGroup();
  PollGroup(const PollGroup&) = delete;
  PollGroup& operator=(const PollGroup&) = delete;

  /// Polls these from now on. A replica that stays keeps its rhythm and goes on with its new plan,
  /// others end at once, new ones are asked at once. `first_done` is called when each has been
  /// asked once since this call, at once if there is none.
  void watch(std::vector<PollPlan> plans, std::function<void()> first_done);

  /// Ends every poll; their tasks end soon after.
  void stop();

  [[nodiscard]] std::size_t size() const { return pollers_.size(); }

 private:
  struct Poller;
  struct FirstRound;

  [[nodiscard]] http::Task<> poll(std::shared_ptr<Poller> poller);
  [[nodiscard]] http::Task<> wait(std::shared_ptr<Poller> poller, TimePoint started);

  std::string_view name_;
  http::Loop& loop_;
  http::TaskScope& scope_;
  std::shared_ptr<Rng> rng_;
  std::vector<std::shared_ptr<Poller>> pollers_;
};

}  // namespace rolter::feeds
