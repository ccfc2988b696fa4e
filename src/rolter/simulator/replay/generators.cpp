#include "rolter/simulator/replay/generators.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "rolter/base/random.h"

namespace rolter::simulator::replay {
namespace {

struct Shape {
  std::size_t groups = 0;
  std::size_t prompts = 0;  // per group
  std::size_t shared_tokens = 0;
  std::size_t own_tokens = 0;
  std::size_t output_tokens = 0;
};

/// Groups of prompts that begin alike. Ids: first each group's shared blocks, then each prompt's
/// own ones.
class Groups {
 public:
  explicit Groups(const Shape& shape) : shape_(shape) {}

  [[nodiscard]] const Shape& shape() const { return shape_; }

  [[nodiscard]] TraceChain call(double start_s, std::size_t group, std::size_t prompt) const {
    TraceCall call;
    call.input_tokens = shape_.shared_tokens + shape_.own_tokens;
    call.output_tokens = shape_.output_tokens;
    const std::size_t shared = shape_.shared_tokens / kTraceBlockTokens;
    const std::size_t own =
        (call.input_tokens + kTraceBlockTokens - 1) / kTraceBlockTokens - shared;
    add(call, group * shared, shared);
    add(call, shape_.groups * shared + (group * shape_.prompts + prompt) * own, own);
    return {.start_s = start_s, .calls = {std::move(call)}};
  }

 private:
  static void add(TraceCall& call, std::size_t first, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      call.blocks.push_back(static_cast<std::uint32_t>(first + i));
    }
  }

  Shape shape_;
};

double exponential(Rng& rng, double rate) {
  return -std::log1p(-uniform_unit(rng)) / rate;
}

std::vector<TraceChain> burst(const Groups& groups, Rng& rng) {
  std::vector<TraceChain> calls;
  for (std::size_t group = 0; group < groups.shape().groups; ++group) {
    for (std::size_t prompt = 0; prompt < groups.shape().prompts; ++prompt) {
      calls.push_back(groups.call(0.0, group, prompt));
    }
  }
  for (std::size_t i = calls.size(); i > 1; --i) {
    std::swap(calls[i - 1], calls[uniform_index(rng, i)]);
  }
  return calls;
}

std::vector<TraceChain> zipf(const Groups& groups, Rng& rng) {
  constexpr double kRate = 10.0;
  std::vector<double> up_to;  // cumulated 1 / rank
  for (std::size_t group = 0; group < groups.shape().groups; ++group) {
    up_to.push_back((up_to.empty() ? 0.0 : up_to.back()) + 1.0 / static_cast<double>(group + 1));
  }
  std::vector<TraceChain> calls;
  double at = 0.0;
  for (std::size_t i = 0; i < groups.shape().groups * groups.shape().prompts; ++i) {
    at += exponential(rng, kRate);
    const auto drawn = std::ranges::upper_bound(up_to, uniform_unit(rng) * up_to.back());
    const auto group =
        std::min<std::size_t>(static_cast<std::size_t>(drawn - up_to.begin()), up_to.size() - 1);
    calls.push_back(groups.call(at, group, uniform_index(rng, groups.shape().prompts)));
  }
  return calls;
}

std::vector<TraceChain> ladder(const Groups& groups, Rng& rng) {
  constexpr double kStepSeconds = 60.0;
  constexpr auto kRates = std::to_array({2.0, 4.0, 6.0, 8.0, 10.0});
  std::vector<TraceChain> calls;
  double step_end = 0.0;
  for (const double rate : kRates) {
    double at = step_end;
    step_end += kStepSeconds;
    while ((at += exponential(rng, rate)) < step_end) {
      calls.push_back(groups.call(at, uniform_index(rng, groups.shape().groups),
                                  uniform_index(rng, groups.shape().prompts)));
    }
  }
  return calls;
}

/// Short questions, long answers.
std::vector<TraceChain> chat(const Groups& /*groups*/, Rng& rng) {
  constexpr std::size_t kConversations = 400;
  constexpr std::size_t kTurns = 6;
  constexpr std::uint32_t kSystemPrompts = 8;
  constexpr std::size_t kAnswerBlocks = 6;
  constexpr double kThinkSeconds = 20.0;
  std::uint32_t next_block = kSystemPrompts;
  std::vector<TraceChain> chains;
  double at = 0.0;
  for (std::size_t i = 0; i < kConversations; ++i) {
    at += exponential(rng, 1.0);
    TraceChain& chain = chains.emplace_back();
    chain.start_s = at;
    std::vector<std::uint32_t> said{static_cast<std::uint32_t>(uniform_index(rng, kSystemPrompts))};
    for (std::size_t turn = 0; turn < kTurns; ++turn) {
      said.push_back(next_block++);
      TraceCall& call = chain.calls.emplace_back();
      call.delay_s = turn == 0 ? 0.0 : kThinkSeconds;
      call.blocks = said;
      call.input_tokens = said.size() * kTraceBlockTokens;
      call.output_tokens = kAnswerBlocks * kTraceBlockTokens;
      for (std::size_t block = 0; block < kAnswerBlocks; ++block) {
        call.reply.push_back(next_block++);
      }
      said.insert(said.end(), call.reply.begin(), call.reply.end());
    }
  }
  return chains;
}

struct KnownWorkload {
  std::string_view name;
  Shape shape;
  std::vector<TraceChain> (*make)(const Groups& groups, Rng& rng);
};

constexpr auto kWorkloads = std::to_array<KnownWorkload>({
    {"gsp", {64, 16, 2'048, 128, 256}, burst},
    {"gsp_zipf", {64, 16, 2'048, 128, 256}, zipf},
    {"llmd_150", {150, 5, 6'000, 1'200, 1'000}, ladder},
    {"llmd_83", {83, 3, 8'000, 1'000, 1'000}, ladder},
    {"chat", {}, chat},
});

}  // namespace

std::vector<TraceChain> generate(std::string_view name, std::uint64_t seed) {
  const auto row = std::ranges::find(kWorkloads, name, &KnownWorkload::name);
  if (row == kWorkloads.end()) {
    return {};
  }
  Rng rng(seed);
  return row->make(Groups(row->shape), rng);
}

std::vector<std::string_view> generator_names() {
  std::vector<std::string_view> names;
  for (const KnownWorkload& row : kWorkloads) {
    names.push_back(row.name);
  }
  return names;
}

}  // namespace rolter::simulator::replay
