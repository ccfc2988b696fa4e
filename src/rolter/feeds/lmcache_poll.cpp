#include "rolter/feeds/lmcache_poll.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "rolter/feeds/lmcache_answer.h"

namespace rolter::feeds {
namespace {

constexpr std::size_t kMostStatusBytes = std::size_t{4} * 1024 * 1024;

/// A server slower than this is as good as gone.
constexpr Duration kTimeout = std::chrono::seconds{2};
constexpr Duration kForever = std::chrono::hours{24 * 365};

Result<cluster::LmcacheReading> read(const Result<GetAnswer>& answer,
                                     config::LmcacheFormat format) {
  if (!answer) {
    return std::unexpected(answer.error());
  }
  if (answer->status != 200) {
    return fail(ErrorKind::kProtocol, fmt::format("status {}", answer->status),
                ErrorSource::kUpstream);
  }
  return read_lmcache_answer(format, answer->body);
}

}  // namespace

LmcachePolls::LmcachePolls(http::Loop& loop, http::TaskScope& scope, Rng seeded,
                           PollProblems::Tell tell)
    : loop_(loop),
      problems_(std::make_shared<PollProblems>(std::move(tell))),
      polls_("lmcache-poll", loop, scope, seeded) {}

void LmcachePolls::watch(std::vector<LmcacheServer> servers) {
  problems_->keep_only([&](const std::string& provider) {
    return std::ranges::any_of(
        servers, [&](const LmcacheServer& it) { return it.replica->name() == provider; });
  });
  std::vector<PollPlan> plans;
  for (LmcacheServer& server : servers) {
    const std::shared_ptr<cluster::Replica> replica = server.replica;
    const config::Lmcache& settings = server.settings;
    plans.push_back(
        {.replica = replica,
         .source = std::move(server.source),
         .path = settings.endpoint.base_path.empty() ? "/" : settings.endpoint.base_path,
         .limits = {.timeout = kTimeout, .max_body_bytes = kMostStatusBytes},
         .interval = [refresh = settings.refresh] { return refresh; },
         .on_start = [] {},
         .on_answer =
             [replica, problems = problems_, &loop = loop_, format = settings.format,
              good_for = settings.stale.count() == 0 ? kForever : Duration{settings.stale}](
                 const Result<GetAnswer>& answer) {
               const auto reading = read(answer, format);
               replica->lmcache_polled(reading ? std::optional{*reading} : std::nullopt, loop.now(),
                                       good_for);
               problems->report(replica->name(), reading ? "" : reading.error().message);
             }});
  }
  polls_.watch(std::move(plans), {});
}

}  // namespace rolter::feeds
