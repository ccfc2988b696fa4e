#include "rolter/feeds/kv_discovery.h"

#include <fmt/format.h>

#include <chrono>
#include <cstddef>
#include <utility>

namespace rolter::feeds {
namespace {

/// SGLang's /server_info holds all of its arguments and states: tens of kilobytes.
constexpr std::size_t kMostAnswerBytes = std::size_t{1} << 20;
constexpr Duration kTimeout = std::chrono::seconds{2};

constexpr Duration kUntilKnown = std::chrono::seconds{1};
constexpr Duration kOnceKnown = std::chrono::seconds{5};
/// For the question that this engine does not answer, as long as it answers the other one.
constexpr Duration kUnlikely = std::chrono::minutes{10};

}  // namespace

KvDiscovery::KvDiscovery(http::Loop& loop, http::TaskScope& scope, Rng seeded,
                         std::function<void()> changed, PollProblems::Tell tell)
    : changed_(std::move(changed)),
      problems_(std::move(tell)),
      sources_polls_("kv-event-sources", loop, scope, seeded),
      info_polls_("server-info", loop, scope, seeded) {}

void KvDiscovery::watch(std::vector<AskedReplica> replicas) {
  auto before = std::exchange(known_, {});
  std::vector<PollPlan> sources;
  std::vector<PollPlan> infos;
  for (const AskedReplica& asked : replicas) {
    const std::string& name = asked.replica->name();
    const auto same = before.find(name);
    const bool stays = same != before.end() && same->second->replica == asked.replica;
    known_[name] = stays ? same->second : std::make_shared<Known>(Known{.replica = asked.replica});
    known_[name]->asks_both = asked.kind != "vllm" && asked.kind != "sglang";
    if (asked.kind != "sglang") {
      sources.push_back(plan_for(asked, Question::kKvEventSources));
    }
    if (asked.kind != "vllm") {
      infos.push_back(plan_for(asked, Question::kServerInfo));
    }
  }
  problems_.keep_only([this](const std::string& name) { return known_.contains(name); });
  sources_polls_.watch(std::move(sources), {});
  info_polls_.watch(std::move(infos), {});
}

void KvDiscovery::stop() {
  sources_polls_.stop();
  info_polls_.stop();
}

const std::vector<AnnouncedStream>& KvDiscovery::announced(std::string_view provider) const {
  static const std::vector<AnnouncedStream> kNothing;
  const auto known = known_.find(provider);
  return known == known_.end() ? kNothing : known->second->streams;
}

PollPlan KvDiscovery::plan_for(const AskedReplica& asked, Question question) {
  const std::shared_ptr<Known> known = known_.at(asked.replica->name());
  const bool sources = question == Question::kKvEventSources;
  return {.replica = asked.replica,
          .source = asked.source,
          .path = asked.base_path + (sources ? "/kv_event_sources" : "/server_info"),
          .limits = {.timeout = kTimeout, .max_body_bytes = kMostAnswerBytes},
          .interval =
              [known, question] {
                return !known->by ? kUntilKnown : known->by == question ? kOnceKnown : kUnlikely;
              },
          .on_start = [] {},
          .on_answer = [this, known, question](
                           const Result<GetAnswer>& answer) { take(*known, question, answer); }};
}

void KvDiscovery::take(Known& known, Question question, const Result<GetAnswer>& answer) {
  const std::string& name = known.replica->name();
  Announcement read;
  if (!answer) {
    read = std::unexpected(answer.error());
  } else if (answer->status != 200) {
    read = fail(ErrorKind::kProtocol, fmt::format("status {}", answer->status),
                ErrorSource::kUpstream);
  } else {
    read = question == Question::kKvEventSources ? read_kv_event_sources(answer->body)
                                                 : read_server_info(answer->body);
  }
  if (read) {
    known.by = question;
    known.faults.clear();
    problems_.report(name, "");
    if (known.streams != *read) {
      known.streams = *std::move(read);
      changed_();
    }
    return;
  }
  if (known.by && known.by != question) {
    return;
  }
  // What was announced last stays: the connection itself tells whether it is still right.
  known.faults[question] = fmt::format(
      "{}: {}", question == Question::kKvEventSources ? "/kv_event_sources" : "/server_info",
      read.error().message);
  if (known.by || !known.asks_both || known.faults.size() == 2) {
    std::string problem;
    for (const auto& [asked, fault] : known.faults) {
      problem += (problem.empty() ? "" : "; ") + fault;
    }
    problems_.report(name, std::move(problem));
  }
}

}  // namespace rolter::feeds
