#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rolter/base/random.h"
#include "rolter/http/head.h"
#include "rolter/http/loop.h"
#include "rolter/simulator/api_fault.h"
#include "rolter/simulator/engine_options.h"
#include "rolter/simulator/engine_rank.h"
#include "rolter/simulator/generate_options.h"
#include "rolter/simulator/generation.h"
#include "rolter/simulator/response_store.h"

namespace rolter::simulator {

/// What an API wants generated: every prompt options.n times.
struct GenerationRequest {
  struct Prompt {
    std::vector<TokenId> tokens;
    std::string echo;  // what the reply starts with a digest of
  };
  GenerateOptions options;
  std::vector<Prompt> prompts;
  std::optional<std::size_t> otherwise_max_tokens;  // without max_tokens; absent = the context
};

enum class ServiceState : std::uint8_t {
  kServing,
  kDraining,  // SIGTERM with --shutdown-timeout: running requests end well, new ones are aborted
  kDead,      // the engine process has died: /health 503, everything else 500
};

/// What the API handlers share: the ranks of one engine and the rules for who may use them. One
/// loop.
class EngineService {
 public:
  EngineService(http::Loop& loop, const EngineOptions& options);

  [[nodiscard]] http::Loop& loop() { return loop_; }
  [[nodiscard]] const EngineOptions& options() const { return options_; }
  [[nodiscard]] std::vector<std::unique_ptr<EngineRank>>& ranks() { return ranks_; }
  [[nodiscard]] ResponseStore& responses() { return responses_; }

  /// Starts the choices, or says why not. Reads X-Session-ID and X-data-parallel-rank.
  [[nodiscard]] Parsed<std::unique_ptr<Generation>> start(const GenerationRequest& request,
                                                          const http::Fields& fields);

  /// 404 unless the name is "" or one of served_models().
  [[nodiscard]] Parsed<void> check_model(std::string_view model) const;
  [[nodiscard]] std::vector<std::string> served_models() const;
  [[nodiscard]] const std::string& name_of(const std::string& model) const {
    return model.empty() ? options_.model : model;
  }

  /// Longest prompt and reply together.
  [[nodiscard]] std::size_t context_limit() const { return ranks_.front()->context_limit(); }
  [[nodiscard]] std::size_t unfinished() const;

  [[nodiscard]] ServiceState state() const { return state_; }
  void set_state(ServiceState state) { state_ = state; }

  /// "chatcmpl-" and the caller's id (body, X-Request-Id) or sixteen hex digits.
  [[nodiscard]] std::string make_id(std::string_view prefix, std::string_view callers = {});
  [[nodiscard]] std::uint64_t unix_time() const;
  [[nodiscard]] std::uint64_t rejected() const { return rejected_; }

 private:
  [[nodiscard]] Parsed<EngineRank*> choose_rank(const http::Fields& fields);
  [[nodiscard]] Parsed<std::vector<SequenceSpec>> specs_of(const GenerationRequest& request,
                                                           const http::Fields& fields) const;

  http::Loop& loop_;
  EngineOptions options_;
  std::vector<std::unique_ptr<EngineRank>> ranks_;
  ResponseStore responses_;
  ServiceState state_ = ServiceState::kServing;
  Rng rng_;
  std::uint64_t rejected_ = 0;
};

}  // namespace rolter::simulator
