#include "rolter/runtime/tokenizing.h"

#include <chrono>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "rolter/feeds/tokenize_answer.h"
#include "rolter/runtime/http_sources.h"

namespace rolter::runtime {
namespace {

constexpr feeds::GetLimits kLimits{.timeout = std::chrono::seconds(5),
                                   .max_body_bytes = std::size_t{32} << 20};
constexpr Duration kRest = std::chrono::seconds(10);

}  // namespace

/// The provider of the least busy eligible target that knows this model and is not at rest; absent
/// when there is none.
std::optional<std::size_t> Tokenizing::least_busy(const proxy::GatewayState& state,
                                                  const proxy::UnlearnedPrompt& prompt,
                                                  TimePoint now) const {
  const proxy::Route* const route = state.find_named(prompt.route);
  std::optional<std::size_t> best;
  std::uint32_t least = std::numeric_limits<std::uint32_t>::max();
  if (route == nullptr) {
    return best;
  }
  for (const cluster::RouteTarget& target : state.cluster->routes[route->index].targets) {
    const std::uint32_t load = target.replica->in_flight();
    const auto rest = rests_.find(state.providers[target.provider].name);
    if (target.model == prompt.model && load < least && target.replica->eligible(now) &&
        (rest == rests_.end() || rest->second <= now)) {
      least = load;
      best = target.provider;
    }
  }
  return best;
}

Tokenizing::Tokenizing(LoopThread& control, telemetry::AppLog& log, kvcache::LearnedChains& learned,
                       CurrentState state)
    : control_(control),
      learned_(learned),
      state_(std::move(state)),
      bell_(control.loop()),
      asking_(control.loop()),
      problems_([&log](std::string_view provider, const std::string& problem) {
        if (problem.empty()) {
          log.info("provider {}: tokenizes again", provider);
        } else {
          log.warn("provider {}: does not tokenize, so prompts of plain text are not learned: {}",
                   provider, problem);
        }
      }) {}

void Tokenizing::start(proxy::UnlearnedPrompts& queue) {
  queue.on_offer(bell_.rope());
  control_.post([this, &queue] { control_.scope().spawn("tokenize", work(queue)); });
}

void Tokenizing::stop() {
  stopped_ = true;
  bell_.cancel();
  asking_.abort();
}

http::Task<> Tokenizing::work(proxy::UnlearnedPrompts& queue) {
  TimePoint next{};  // when the budget allows another one
  while (!stopped_) {
    const TimePoint now = control_.loop().now();
    if (now < next) {
      co_await bell_.wait(next);
      continue;
    }
    std::optional<proxy::UnlearnedPrompt> prompt = queue.take();
    if (!prompt) {
      co_await bell_.wait();
      continue;
    }
    const auto per_second = state_()->config.index.tokenize_per_second;
    next = now + std::chrono::duration_cast<Duration>(std::chrono::seconds(1)) / per_second;
    co_await learn(std::move(*prompt));
  }
}

http::Task<> Tokenizing::learn(proxy::UnlearnedPrompt prompt) {
  const auto state = state_();
  const auto at = least_busy(*state, prompt, control_.loop().now());
  if (!at) {
    failed_.fetch_add(1, std::memory_order_relaxed);
    co_return;
  }
  const proxy::Provider& provider = state->providers[*at];
  feeds::HttpSource source = replica_source(provider);
  std::string request = feeds::render_post(source, provider.base_path + "/tokenize", prompt.body);
  const auto answer = co_await asking_.run(std::move(source), std::move(request), kLimits);
  if (stopped_) {
    co_return;
  }
  if (!answer) {
    co_return note(provider.name, answer.error().message);
  }
  if (answer->status != 200) {
    co_return note(provider.name, "status " + std::to_string(answer->status));
  }
  const auto ids = feeds::read_tokenize_answer(answer->body);
  if (!ids) {
    co_return note(provider.name, ids.error().message);
  }
  problems_.report(provider.name, "");
  rests_.erase(provider.name);
  std::vector<kvcache::ChainKey> chain;
  kvcache::chain_keys(*ids, prompt.block_size,
                      {.adapter = prompt.by_adapter ? prompt.model : std::string_view(),
                       .cache_salt = prompt.cache_salt},
                      chain);
  (void)learned_.tokenized(kvcache::LearnedChains::Ticket{prompt.ticket}, chain,
                           static_cast<std::uint32_t>(ids->size()));
}

void Tokenizing::note(const std::string& provider, const std::string& problem) {
  failed_.fetch_add(1, std::memory_order_relaxed);
  rests_[provider] = control_.loop().now() + kRest;
  problems_.report(provider, problem);
}

}  // namespace rolter::runtime
