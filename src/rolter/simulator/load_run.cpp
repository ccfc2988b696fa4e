#include "rolter/simulator/load_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "rolter/simulator/json_writer.h"
#include "rolter/simulator/tokenizer.h"

namespace rolter::simulator {
namespace {

constexpr double kArrivalSeconds = 2.0;

double exponential(Rng& rng, double mean) {
  return -std::log1p(-uniform_unit(rng)) * mean;
}

std::string comma_separated(const std::vector<TokenId>& ids) {
  return fmt::format("{}", fmt::join(ids, ","));
}

}  // namespace

LoadRun::LoadRun(http::Loop& loop, http::TaskScope& scope, const http::Endpoint& gateway,
                 std::string model)
    : loop_(loop), scope_(scope), client_(loop, gateway), model_(std::move(model)) {}

void LoadRun::start_users(const ChatWorkload& workload, std::size_t users, double think_s,
                          std::uint64_t seed) {
  for (std::size_t i = 0; i < users; ++i) {
    const double arrive_s = kArrivalSeconds * static_cast<double>(i) / static_cast<double>(users);
    scope_.spawn("user", user(workload, Rng(seed + i), arrive_s, think_s));
  }
}

http::Task<> LoadRun::user(const ChatWorkload& workload, Rng rng, double arrive_s, double think_s) {
  if (!co_await pause(arrive_s)) {
    co_return;
  }
  // The first conversation is already under way, so that users do not come in step.
  std::size_t past = uniform_index(rng, workload.shape().turns);
  while (co_await converse(workload, rng, past, think_s)) {
    past = 0;
  }
}

/// One conversation, `past` turns of which lie behind. False when the run was stopped.
http::Task<bool> LoadRun::converse(const ChatWorkload& workload, Rng& rng, std::size_t past,
                                   double think_s) {
  std::vector<Turn> turns = {workload.system_turn(rng)};
  for (std::size_t turn = 0; turn < workload.shape().turns; ++turn) {
    turns.push_back(workload.question(rng));
    if (turn < past) {
      turns.push_back({"assistant", workload.question(rng).text});
      continue;
    }
    CallOutcome answer = co_await call(
        "/v1/chat/completions", workload.request_body(model_, turns),
        brings_token_ids_ ? comma_separated(render_chat(turns, "", GenerationPrompt::kYes))
                          : std::string());
    turns.push_back({"assistant", std::move(answer.text)});
    if (!co_await pause(exponential(rng, think_s))) {
      co_return false;
    }
    if (!answer.complete) {
      break;
    }
  }
  co_return !stopped_;
}

void LoadRun::start_trace(const std::vector<TraceChain>& chains, double speedup) {
  scope_.spawn("trace", play(chains, speedup));
}

http::Task<> LoadRun::play(const std::vector<TraceChain>& chains, double speedup) {
  const TimePoint begun = loop_.now();
  for (const TraceChain& chain : chains) {
    const std::chrono::duration<double> past = loop_.now() - begun;
    const double wait_s = (chain.start_s - chains.front().start_s) / speedup - past.count();
    if (wait_s > 0.0 && !co_await pause(wait_s)) {
      break;
    }
    scope_.spawn("chain", play_chain(chain, speedup));
  }
}

http::Task<> LoadRun::play_chain(const TraceChain& chain, double speedup) {
  for (const TraceCall& next : chain.calls) {
    if (!co_await pause(next.delay_s / speedup)) {
      break;
    }
    JsonWriter json;
    json.object().text("model", model_).flag("stream", true).flag("ignore_eos", true);
    const std::string prompt = shrunk_prompt(next);
    json.number("max_tokens", shrunk_output(next)).text("prompt", prompt);
    (void)co_await call("/v1/completions", json.end().take(),
                        brings_token_ids_ ? comma_separated(tokenize(prompt)) : std::string());
  }
}

http::Task<CallOutcome> LoadRun::call(std::string path, std::string body, std::string token_ids) {
  ++result_.in_flight;
  CallOutcome outcome =
      co_await client_.post(std::move(path), std::move(body), std::move(token_ids));
  --result_.in_flight;
  if (aborted_) {
    co_return outcome;
  }
  if (outcome.complete && outcome.status == 200) {
    ++result_.requests;
    if (outcome.first_token) {
      const std::chrono::duration<double> first = *outcome.first_token;
      result_.first_token_s.push_back(first.count());
    }
  } else if (outcome.status == 429 || outcome.status == 503) {
    ++result_.refused;
  } else {
    ++result_.errors;
    result_.last_failure =
        outcome.failure.empty() ? "status " + std::to_string(outcome.status) : outcome.failure;
  }
  co_return outcome;
}

http::Task<bool> LoadRun::pause(double seconds) {
  const TimePoint until =
      loop_.now() + std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
  Wakeup alarm(loop_);
  pauses_.push_back(&alarm);
  while (!stopped_ && loop_.now() < until) {
    co_await alarm.wait(until);
  }
  std::erase(pauses_, &alarm);
  co_return !stopped_;
}

void LoadRun::stop() {
  stopped_ = true;
  for (Wakeup* pause : pauses_) {
    pause->notify();
  }
}

void LoadRun::abort() {
  aborted_ = true;
  stop();
  client_.abort();
}

}  // namespace rolter::simulator
