#include <algorithm>
#include <array>

#include "rolter/simulator/handlers.h"

namespace rolter::simulator {
namespace {

struct Route {
  std::string_view method;
  std::string_view path;
  Handler handler;
  bool developer_only = false;
};

constexpr std::array kRoutes = {
    Route{"POST", "/v1/chat/completions", handle_chat_completions},
    Route{"POST", "/v1/completions", handle_completions},
    Route{"POST", "/v1/messages", handle_messages},
    Route{"POST", "/v1/messages/count_tokens", handle_count_tokens},
    Route{"POST", "/v1/responses", handle_responses},
    Route{"POST", "/v1/embeddings", handle_embeddings},
    Route{"POST", "/v1/rerank", handle_rerank},
    Route{"POST", "/v2/rerank", handle_rerank},
    Route{"POST", "/rerank", handle_rerank},
    Route{"POST", "/v1/score", handle_score},
    Route{"POST", "/score", handle_score},
    Route{"POST", "/v1/audio/transcriptions", handle_transcriptions},
    Route{"POST", "/v1/audio/translations", handle_transcriptions},
    Route{"POST", "/tokenize", handle_tokenize},
    Route{"POST", "/detokenize", handle_detokenize},
    Route{"GET", "/v1/models", handle_models},
    Route{"GET", "/health", handle_health},
    Route{"GET", "/ping", handle_ping},
    Route{"POST", "/ping", handle_ping},
    Route{"GET", "/version", handle_version},
    Route{"GET", "/load", handle_load},
    Route{"GET", "/metrics", handle_metrics},
    Route{"GET", "/kv_event_sources", handle_kv_event_sources},
    Route{"POST", "/reset_prefix_cache", handle_reset_prefix_cache, true},
};

}  // namespace

http::Task<> dispatch(EngineService& service, Exchange& exchange) {
  const bool developer = service.options().developer_mode;
  std::string_view allowed;
  for (const Route& route : kRoutes) {
    if (route.path != exchange.path() || (route.developer_only && !developer)) {
      continue;
    }
    if (route.method == exchange.method()) {
      return route.handler(service, exchange);
    }
    allowed = route.method;
  }
  if (!allowed.empty()) {
    return exchange.answer_json(405, R"({"detail":"Method Not Allowed"})",
                                "allow: " + std::string(allowed) + "\r\n");
  }
  return exchange.answer_json(404, R"({"detail":"Not Found"})");
}

Parsed<RequestBody> read_json(const Exchange& exchange) {
  std::string_view type = exchange.fields().get("content-type");
  type = type.substr(0, type.find(';'));
  while (type.ends_with(' ')) {
    type.remove_suffix(1);
  }
  if (!http::iequals(type, "application/json")) {
    return std::unexpected(ApiFault{
        400, "Bad Request",
        "1 validation error:\n  Unsupported Media Type: Only 'application/json' is allowed", ""});
  }
  return RequestBody::parse(exchange.body());
}

}  // namespace rolter::simulator
