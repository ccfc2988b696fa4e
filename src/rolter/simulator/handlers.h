#pragma once

#include <string_view>

#include "rolter/simulator/engine_service.h"
#include "rolter/simulator/exchange.h"

namespace rolter::simulator {

/// Answers one request. Both arguments belong to the caller, who awaits.
using Handler = http::Task<> (*)(EngineService& service, Exchange& exchange);

[[nodiscard]] http::Task<> handle_chat_completions(EngineService& service, Exchange& exchange);
[[nodiscard]] http::Task<> handle_completions(EngineService& service, Exchange& exchange);
[[nodiscard]] http::Task<> handle_messages(EngineService& service, Exchange& exchange);
[[nodiscard]] http::Task<> handle_count_tokens(EngineService& service, Exchange& exchange);
[[nodiscard]] http::Task<> handle_responses(EngineService& service, Exchange& exchange);
[[nodiscard]] http::Task<> handle_embeddings(EngineService& service, Exchange& exchange);
[[nodiscard]] http::Task<> handle_rerank(EngineService& service, Exchange& exchange);
[[nodiscard]] http::Task<> handle_score(EngineService& service, Exchange& exchange);
[[nodiscard]] http::Task<> handle_transcriptions(EngineService& service, Exchange& exchange);
[[nodiscard]] http::Task<> handle_tokenize(EngineService& service, Exchange& exchange);
[[nodiscard]] http::Task<> handle_detokenize(EngineService& service, Exchange& exchange);
[[nodiscard]] http::Task<> handle_models(EngineService& service, Exchange& exchange);
[[nodiscard]] http::Task<> handle_health(EngineService& service, Exchange& exchange);
[[nodiscard]] http::Task<> handle_ping(EngineService& service, Exchange& exchange);
[[nodiscard]] http::Task<> handle_version(EngineService& service, Exchange& exchange);
[[nodiscard]] http::Task<> handle_load(EngineService& service, Exchange& exchange);
[[nodiscard]] http::Task<> handle_metrics(EngineService& service, Exchange& exchange);
[[nodiscard]] http::Task<> handle_kv_event_sources(EngineService& service, Exchange& exchange);
[[nodiscard]] http::Task<> handle_reset_prefix_cache(EngineService& service, Exchange& exchange);

/// The handler for a request's path and method; unknown paths are 404, other methods 405.
[[nodiscard]] http::Task<> dispatch(EngineService& service, Exchange& exchange);

/// The body as JSON. vLLM takes no other media type.
[[nodiscard]] Parsed<RequestBody> read_json(const Exchange& exchange);

}  // namespace rolter::simulator
