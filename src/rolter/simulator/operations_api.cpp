// What is asked about the engine rather than of the model.

#include <fmt/format.h>

#include "rolter/simulator/handlers.h"
#include "rolter/simulator/json_writer.h"
#include "rolter/simulator/metrics_page.h"

namespace rolter::simulator {
namespace {

/// "tcp://0.0.0.0:5557", which ZMQ says it has bound, is "tcp://*:5557" to vLLM.
std::string as_configured(std::string endpoint) {
  constexpr std::string_view kAny = "tcp://0.0.0.0:";
  if (endpoint.starts_with(kAny)) {
    endpoint = "tcp://*:" + endpoint.substr(kAny.size());
  }
  return endpoint;
}

}  // namespace

http::Task<> handle_models(EngineService& service, Exchange& exchange) {
  JsonWriter json;
  json.object().text("object", "list").array("data");
  for (const std::string& model : service.served_models()) {
    json.object().text("id", model).text("object", "model");
    json.number("created", service.unix_time()).text("owned_by", "vllm").text("root", model);
    if (model == service.options().model) {
      json.null("parent").number("max_model_len", service.context_limit());
    } else {
      json.text("parent", service.options().model).null("max_model_len");
    }
    json.array("permission").end().end();
  }
  co_await exchange.answer_json(200, json.end().end().take());
}

http::Task<> handle_health(EngineService& service, Exchange& exchange) {
  return exchange.answer(service.state() == ServiceState::kDead ? 503 : 200, "", "");
}

http::Task<> handle_ping(EngineService& service, Exchange& exchange) {
  return handle_health(service, exchange);
}

http::Task<> handle_version(EngineService&, Exchange& exchange) {
  return exchange.answer_json(200, R"({"version":"0.32.0"})");
}

/// 0 whatever runs, as without --enable-server-load-tracking.
http::Task<> handle_load(EngineService&, Exchange& exchange) {
  return exchange.answer_json(200, R"({"server_load":0})");
}

http::Task<> handle_metrics(EngineService& service, Exchange& exchange) {
  return exchange.answer(200, "text/plain; version=1.0.0; charset=utf-8", metrics_page(service));
}

http::Task<> handle_kv_event_sources(EngineService& service, Exchange& exchange) {
  const KvPublisherOptions& events = service.options().kv_events;
  JsonWriter json;
  json.object();
  for (std::size_t rank = 0; rank < service.ranks().size(); ++rank) {
    const KvPublisher* publisher = service.ranks()[rank]->publisher();
    if (publisher == nullptr) {
      continue;
    }
    json.object(std::to_string(rank)).flag("enable_kv_cache_events", true);
    json.text("publisher", "zmq").text("endpoint", as_configured(publisher->endpoint()));
    if (publisher->replay_endpoint().empty()) {
      json.null("replay_endpoint");
    } else {
      json.text("replay_endpoint", as_configured(publisher->replay_endpoint()));
    }
    json.number("buffer_steps", events.buffer_steps).number("hwm", 100'000);
    json.number("max_queue_size", 100'000).text("topic", events.topic).end();
  }
  co_await exchange.answer_json(200, json.end().take());
}

http::Task<> handle_reset_prefix_cache(EngineService& service, Exchange& exchange) {
  const bool running =
      exchange.query().find("reset_running_requests=true") != std::string_view::npos;
  bool done = true;
  for (const auto& rank : service.ranks()) {
    done = rank->reset_prefix_cache(running ? Scheduler::ResetRunning::kYes
                                            : Scheduler::ResetRunning::kNo) &&
           done;
  }
  return exchange.answer_json(200, fmt::format(R"({{"success":{}}})", done));
}

}  // namespace rolter::simulator
