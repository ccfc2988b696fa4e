#include "rolter/simulator/engine_service.h"

#include <fmt/format.h>

#include <absl/strings/str_join.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>

#include "rolter/simulator/reply.h"
#include "rolter/simulator/tokenizer.h"

namespace rolter::simulator {
namespace {

constexpr std::size_t kStoredResponses = 1'000;

}  // namespace

EngineService::EngineService(http::Loop& loop, const EngineOptions& options)
    : loop_(loop),
      options_(options),
      responses_(kStoredResponses),
      rng_(options.seed ^ (std::uint64_t{options.port} << 32U)) {
  for (std::uint32_t rank = 0; rank < std::max(options.dp_size, 1U); ++rank) {
    ranks_.push_back(std::make_unique<EngineRank>(loop, rank, options.limits, options.speed));
  }
}

Parsed<std::unique_ptr<Generation>> EngineService::start(const GenerationRequest& request,
                                                         const http::Fields& fields) {
  if (state_ == ServiceState::kDead) {
    return std::unexpected(engine_dead());
  }
  if (Parsed<void> known = check_model(request.options.model); !known) {
    return std::unexpected(std::move(known.error()));
  }
  Parsed<std::vector<SequenceSpec>> specs = specs_of(request, fields);
  if (!specs) {
    return std::unexpected(std::move(specs.error()));
  }
  const Parsed<EngineRank*> rank = choose_rank(fields);
  if (!rank) {
    return std::unexpected(rank.error());
  }
  if (options_.max_queued > 0 && unfinished() >= options_.max_queued) {
    ++rejected_;
    return std::unexpected(engine_busy());
  }
  auto generation = std::make_unique<Generation>(loop_, **rank);
  for (SequenceSpec& spec : *specs) {
    if (state_ == ServiceState::kDraining) {
      generation->refuse(spec.prompt.size());
    } else {
      generation->start(std::move(spec));
    }
  }
  return generation;
}

Parsed<std::vector<SequenceSpec>> EngineService::specs_of(const GenerationRequest& request,
                                                          const http::Fields& fields) const {
  const GenerateOptions& options = request.options;
  std::vector<SequenceSpec> specs;
  for (const GenerationRequest::Prompt& prompt : request.prompts) {
    const Parsed<std::size_t> limit = reply_limit(
        {options.max_tokens, request.otherwise_max_tokens, context_limit()}, prompt.tokens.size());
    if (!limit) {
      return std::unexpected(limit.error());
    }
    for (std::size_t choice = 0; choice < options.n; ++choice) {
      SequenceSpec& spec = specs.emplace_back();
      spec.prompt = prompt.tokens;
      Reply reply = make_reply({prompt.echo, options_.seed + options.seed + choice, *limit,
                                options.min_tokens, options.ignore_eos});
      spec.script = std::move(reply.tokens);
      spec.script_ends = reply.ends;
      const auto adapter = std::ranges::find(options_.adapters, options.model);
      if (adapter != options_.adapters.end()) {
        spec.lora = *adapter;
        spec.lora_id = static_cast<std::uint32_t>(adapter - options_.adapters.begin()) + 1;
      }
      spec.cache_salt = options.cache_salt;
      spec.session_id =
          options.session_id.empty() ? fields.get("x-session-id") : options.session_id;
      spec.announce_hits = options.announce_hits;
    }
  }
  return specs;
}

Parsed<EngineRank*> EngineService::choose_rank(const http::Fields& fields) {
  const std::string_view wanted = fields.get("x-data-parallel-rank");
  if (wanted.empty()) {
    return std::ranges::min_element(ranks_, {}, [](const auto& rank) { return rank->unfinished(); })
        ->get();
  }
  std::size_t rank = ranks_.size();
  const auto parsed = std::from_chars(wanted.data(), wanted.data() + wanted.size(), rank);
  if (parsed.ec != std::errc() || parsed.ptr != wanted.data() + wanted.size() ||
      rank >= ranks_.size()) {
    return std::unexpected(ApiFault{
        400, "BadRequestError",
        fmt::format("data_parallel_rank {} is out of range [0, {}).", wanted, ranks_.size()), ""});
  }
  return ranks_[rank].get();
}

Parsed<void> EngineService::check_model(std::string_view model) const {
  const std::vector<std::string> served = served_models();
  if (!model.empty() && std::ranges::find(served, model) == served.end()) {
    return std::unexpected(unknown_model(model, absl::StrJoin(served, ", ")));
  }
  return {};
}

std::vector<std::string> EngineService::served_models() const {
  std::vector<std::string> served = {options_.model};
  served.insert(served.end(), options_.adapters.begin(), options_.adapters.end());
  return served;
}

std::size_t EngineService::unfinished() const {
  std::size_t unfinished = 0;
  for (const auto& rank : ranks_) {
    unfinished += rank->unfinished();
  }
  return unfinished;
}

std::string EngineService::make_id(std::string_view prefix, std::string_view callers) {
  return callers.empty() ? fmt::format("{}{:016x}", prefix, rng_())
                         : fmt::format("{}{}", prefix, callers);
}

std::uint64_t EngineService::unix_time() const {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::seconds>(loop_.wall_now().time_since_epoch())
          .count());
}

}  // namespace rolter::simulator
