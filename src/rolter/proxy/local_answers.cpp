#include "rolter/proxy/local_answers.h"

#include <utility>

#include "rolter/base/percent.h"
#include "rolter/openai/error_body.h"
#include "rolter/proxy/access.h"

namespace rolter::proxy {
namespace {

constexpr std::string_view kModelsPath = "/v1/models";

void append_model(std::string& out, std::string_view id) {
  out += R"({"id":)";
  openai::append_json_string(out, id);
  out += R"(,"object":"model","created":0,"owned_by":"rolter"})";
}

/// Models and aliases by which routes can be asked for; "*" is a rule, not a name.
OwnAnswer list_models(const GatewayState& state, const admission::Caller& caller) {
  OwnAnswer answer;
  answer.body = R"({"object":"list","data":[)";
  bool first = true;
  const auto add = [&](std::string_view id) {
    if (id != "*") {
      answer.body += std::exchange(first, false) ? "" : ",";
      append_model(answer.body, id);
    }
  };
  for (const config::Route& route : state.config.routes) {
    if (!caller.may_use(route.model, route.model)) {
      continue;
    }
    add(route.model);
    for (const std::string& alias : route.aliases) {
      add(alias);
    }
  }
  answer.body += "]}";
  return answer;
}

std::expected<OwnAnswer, OwnError> one_model(const GatewayState& state,
                                             const admission::Caller& caller, std::string_view id) {
  const auto route = state.route_by_model.find(id);
  if (route == state.route_by_model.end() ||
      !caller.may_use(id, state.routes[route->second].model)) {
    return std::unexpected(unknown_model(id));
  }
  OwnAnswer answer;
  append_model(answer.body, id);
  return answer;
}

}  // namespace

OwnAnswer LocalAnswers::ready() const {
  const bool draining = shared_.draining.load(std::memory_order_relaxed);
  const bool ready = shared_.ready.load(std::memory_order_relaxed) && !draining;
  return {.status = ready ? 200 : 503,
          .content_type = "text/plain",
          .body = ready      ? "ready\n"
                  : draining ? "draining\n"
                             : "starting\n"};
}

std::optional<std::expected<LocalAnswer, OwnError>> LocalAnswers::answer(
    const GatewayState& state, const LocalRequest& request) {
  const std::string_view path = request.path;
  const bool is_model = path.starts_with(kModelsPath) && path.size() > kModelsPath.size() + 1 &&
                        path[kModelsPath.size()] == '/';
  const bool known = path == "/health" || path == "/ready" || path == kModelsPath || is_model ||
                     path == state.config.server.metrics_path;
  if (!known) {
    return std::nullopt;
  }
  if (request.method != "GET" && request.method != "HEAD") {
    return std::unexpected(method_not_allowed("GET"));
  }
  if (path == "/health") {
    return LocalAnswer{{.content_type = "text/plain", .body = "ok\n"}};
  }
  if (path == "/ready") {
    return LocalAnswer{ready()};
  }
  if (path == state.config.server.metrics_path) {
    return LocalAnswer{{.content_type = "text/plain; version=0.0.4; charset=utf-8"}, metrics_};
  }
  const auto caller = authenticate(state, request.fields, request.now);
  if (!caller) {
    return std::unexpected(access_error(caller.error()));
  }
  if (!is_model) {
    return LocalAnswer{list_models(state, *caller)};
  }
  // Clients send the slash of "org/name" as %2F.
  auto model = one_model(state, *caller, percent_decoded(path.substr(kModelsPath.size() + 1)));
  if (!model) {
    return std::unexpected(std::move(model.error()));
  }
  return LocalAnswer{std::move(*model)};
}

}  // namespace rolter::proxy
