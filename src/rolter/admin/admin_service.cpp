#include "rolter/admin/admin_service.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <span>
#include <utility>

#include "rolter/admin/page.h"
#include "rolter/admin/residency_view.h"
#include "rolter/admin/state_view.h"
#include "rolter/base/percent.h"
#include "rolter/http/head_parser.h"
#include "rolter/openai/json_document.h"
#include "rolter/openai/json_string.h"
#include "rolter/openai/json_writer.h"

namespace rolter::admin {
namespace {

constexpr double kLongestWaitSecs = 3'600;
constexpr std::size_t kMostDecisionsShown = 50;  // of one second: nobody reads more

bool wants_text(const Request& request) {
  return request.fields.lists("accept", "text/plain");
}

/// Requests that only look.
bool is_get(const Request& request) {
  return request.method == "GET" || request.method == "HEAD";
}

std::string names_of(const proxy::GatewayState& state) {
  std::string names;
  for (const proxy::Provider& provider : state.providers) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", provider.name);
  }
  return names;
}

StateViewInput view_input(const proxy::GatewayState& state, const AdminParts& parts,
                          const Traffic& traffic, std::span<const proxy::LastError> errors,
                          TimePoint now) {
  return {.state = state,
          .traffic = traffic,
          .trees = parts.trees,
          .errors = errors,
          .ready = parts.shared.ready.load(std::memory_order_relaxed),
          .draining = parts.shared.draining.load(std::memory_order_relaxed),
          .now = now};
}

Reply unknown_target(std::string_view target, const proxy::GatewayState& state) {
  return refusal(
      404, "unknown_target",
      fmt::format("there is no provider \"{}\"; there are: {}", target, names_of(state)));
}

Reply text_reply(std::string text) {
  return {.content_type = "text/plain; charset=utf-8", .body = std::move(text)};
}

}  // namespace

AdminService::AdminService(http::Loop& loop, AdminParts parts)
    : loop_(loop), parts_(std::move(parts)), explainer_(make_seeded_rng()) {}

std::optional<Reply> AdminService::check(const Request& request) const {
  return guard(parts_.shared.gateway.load()->config.admin, request);
}

Reply AdminService::answer(const Request& request) {
  const PageFile* const page = find_page_file(request.path);
  const bool looks = request.path == "/admin/state" || request.path == "/admin/decisions" ||
                     request.path == "/admin/residency" || request.path == "/metrics" ||
                     page != nullptr;
  if (looks && !is_get(request)) {
    return method_not_allowed("GET");
  }
  if (request.path == "/admin/state") {
    return state(request);
  }
  if (page != nullptr) {
    return {.content_type = page->content_type(),
            .body = std::string(page->content),
            .extra_fields = std::string(kPageSafety)};
  }
  if (request.path == "/admin/decisions") {
    return {.body = decisions_json(
                find_decisions(parts_.shared, query_value(request.query, "request_id")))};
  }
  if (request.path == "/admin/residency") {
    return residency(request);
  }
  if (request.path == "/metrics") {
    return {.content_type = "text/plain; version=0.0.4; charset=utf-8", .body = parts_.metrics()};
  }
  if (request.path == "/admin/explain") {
    return request.method == "POST" ? explain(request) : method_not_allowed("POST");
  }
  return refusal(404, "unknown_path",
                 fmt::format("the admin listener has no \"{}\"; requests to models go to the API's "
                             "port",
                             request.path));
}

Reply AdminService::state(const Request& request) {
  const auto state = parts_.shared.gateway.load();
  const auto errors = last_errors(parts_.shared);
  const StateViewInput in = view_input(*state, parts_, traffic_, errors, loop_.now());
  if (wants_text(request)) {
    return text_reply(state_text(in));
  }
  return {.body = state_json(in, WithConfig::kYes)};
}

std::string AdminService::events(DecisionCursor& cursor) {
  const auto state = parts_.shared.gateway.load();
  const auto errors = last_errors(parts_.shared);
  const auto decisions = read_decisions(parts_.shared, cursor, kMostDecisionsShown);
  return fmt::format(
      "event: state\ndata: {}\n\nevent: decisions\ndata: {}\n\n",
      state_json(view_input(*state, parts_, traffic_, errors, loop_.now()), WithConfig::kNo),
      decisions_json(decisions));
}

void AdminService::sample_traffic() {
  traffic_.sample(*parts_.shared.gateway.load(), loop_.now());
}

Reply AdminService::explain(const Request& request) {
  const auto state = parts_.shared.gateway.load();
  const std::string path = query_value(request.query, "path");
  auto explanation =
      explainer_.explain(*state, {.path = path,
                                  .body = request.body,
                                  .session = request.fields.get("x-session-id"),
                                  .now = loop_.now(),
                                  .token_ids = request.fields.get(http::kTokenIdsField)});
  if (!explanation) {
    return std::move(explanation.error());
  }
  return wants_text(request) ? text_reply(to_text(*explanation))
                             : Reply{.body = to_json(*explanation)};
}

Reply AdminService::residency(const Request& request) const {
  const auto state = parts_.shared.gateway.load();
  const std::string target = query_value(request.query, "target");
  const auto& replicas = state->cluster->replicas;
  if (!target.empty() && std::ranges::none_of(replicas, [&](const auto& replica) {
        return replica->name() == target;
      })) {
    return unknown_target(target, *state);
  }
  return {.body = residency_json(*state, parts_.residency, target)};
}

std::expected<AdminService::DrainOrder, Reply> AdminService::read_drain_order(
    std::string_view body) {
  const auto bad = [] {
    return std::unexpected(refusal(400, "invalid_request",
                                   "send {\"target\": \"PROVIDER\"}, and \"wait_secs\" (at most "
                                   "3600) to wait for its last request"));
  };
  openai::JsonDocument document;
  if (document.read(body) || !document.is_object(document.root())) {
    return bad();
  }
  DrainOrder order;
  bool sound = true;
  document.for_each_member(document.root(), [&](std::string_view key, auto value) {
    if (key == "target" && document.is_string(value)) {
      order.target.clear();
      sound = sound && openai::append_unescaped(order.target, document.escaped(value));
    } else if (key == "wait_secs" && document.is_number(value)) {
      const std::string_view text = document.scalar(value);
      double secs = 0;
      const auto read = std::from_chars(text.data(), text.data() + text.size(), secs);
      sound = sound && read.ec == std::errc() && secs >= 0 && secs <= kLongestWaitSecs;
      if (sound) {
        order.wait = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(secs));
      }
    } else {
      sound = false;
    }
  });
  if (!sound || order.target.empty()) {
    return bad();
  }
  return order;
}

std::expected<std::shared_ptr<cluster::Replica>, Reply> AdminService::drain(const DrainOrder& order,
                                                                            bool drained) {
  const auto state = parts_.shared.gateway.load();
  for (const auto& replica : state->cluster->replicas) {
    if (replica->name() == order.target) {
      if (replica->set_drained(drained, loop_.now())) {
        parts_.log.info("provider {}: {} by an operator", replica->name(),
                        drained ? "drained" : "back");
      }
      return replica;
    }
  }
  return std::unexpected(unknown_target(order.target, *state));
}

bool AdminService::reload(std::function<void(ReloadOutcome)> done) {
  if (!parts_.reload) {
    return false;
  }
  parts_.reload(std::move(done));
  return true;
}

Reply drain_reply(const Request& request, const cluster::Replica& replica) {
  const bool drained = replica.drained();
  const std::uint32_t in_flight = replica.in_flight();
  Reply reply;
  if (wants_text(request)) {
    reply = text_reply(fmt::format("{}: {}, {} requests in flight\n", replica.name(),
                                   drained ? "drained" : "takes part again", in_flight));
  } else {
    openai::JsonWriter json;
    json.object()
        .text("target", replica.name())
        .flag("drained", drained)
        .number("in_flight", in_flight)
        .end();
    reply.body = json.take();
  }
  reply.status = drained && in_flight > 0 ? 202 : 200;
  return reply;
}

Reply reload_reply(const ReloadOutcome& outcome) {
  if (!outcome.applied) {
    return refusal(422, "reload_refused",
                   fmt::format("the configuration in force stays (version {}):\n{}",
                               outcome.version, outcome.findings));
  }
  openai::JsonWriter json;
  json.object().number("version", outcome.version).text("findings", outcome.findings).end();
  return {.body = json.take()};
}

std::string query_value(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos || pair.substr(0, equals) != name) {
      continue;
    }
    return percent_decoded(pair.substr(equals + 1));
  }
  return {};
}

}  // namespace rolter::admin
