#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rolter/cluster/replica.h"
#include "rolter/feeds/kv_announcement.h"
#include "rolter/feeds/poll_group.h"
#include "rolter/feeds/poll_problems.h"

namespace rolter::feeds {

/// A replica that is asked for its streams.
struct AskedReplica {
  std::shared_ptr<cluster::Replica> replica;
  HttpSource source;
  std::string base_path;  // of its URL, before the question's path
  std::string kind;       // of its provider: "vllm", "sglang", or one that may be either
};

/// Asks engines where they publish their KV events: again and again, since a restarted engine may
/// have bound other ports. Lives on the control loop.
class KvDiscovery {
 public:
  /// `changed`: what announced() says of a provider is not what it was. `tell`: the engine
  /// announces nothing usable, or does again.
  KvDiscovery(http::Loop& loop, http::TaskScope& scope, Rng seeded, std::function<void()> changed,
              PollProblems::Tell tell);

  /// Asks these from now on. What is known of a replica that stays is kept; `changed` is not
  /// called.
  void watch(std::vector<AskedReplica> replicas);
  void stop();

  /// As last announced; empty when nothing usable has been.
  [[nodiscard]] const std::vector<AnnouncedStream>& announced(std::string_view provider) const;

 private:
  enum class Question : std::uint8_t { kKvEventSources, kServerInfo };
  struct Known {
    std::shared_ptr<cluster::Replica> replica;
    std::vector<AnnouncedStream> streams{};
    std::optional<Question> by{};              // which question it answers
    std::map<Question, std::string> faults{};  // of the questions it does not answer
    bool asks_both = false;
  };

  [[nodiscard]] PollPlan plan_for(const AskedReplica& asked, Question question);
  void take(Known& known, Question question, const Result<GetAnswer>& answer);

  std::function<void()> changed_;
  PollProblems problems_;
  std::map<std::string, std::shared_ptr<Known>, std::less<>> known_;
  PollGroup sources_polls_;
  PollGroup info_polls_;
};

}  // namespace rolter::feeds
