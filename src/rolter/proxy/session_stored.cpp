// Requests that refer to an answer which one replica holds: /v1/responses/{id} and its kin, and
// previous_response_id.
#include <optional>
#include <utility>

#include "rolter/proxy/parsed_request.h"
#include "rolter/proxy/session.h"

namespace rolter::proxy {
namespace {

std::optional<std::size_t> target_at(const GatewayState& state, const Route& route,
                                     ReplicaSlot slot) {
  const auto& targets = state.cluster->routes[route.index].targets;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (targets[i].replica->slot() == slot) {
      return i;
    }
  }
  return std::nullopt;
}

struct Held {
  const Route* route = nullptr;
  std::size_t target = 0;
};

/// By a route that the caller may use.
std::optional<Held> find_holder(const GatewayState& state, const admission::Caller& caller,
                                ReplicaSlot slot) {
  for (const Route& route : state.routes) {
    if (!caller.may_use(route.model, route.model)) {
      continue;
    }
    if (const auto target = target_at(state, route, slot)) {
      return Held{&route, *target};
    }
  }
  return std::nullopt;
}

}  // namespace

void Session::prefer_holder(Forwarding& forwarding, const GatewayState& state, const Route& route,
                            std::string_view answer_id) const {
  if (answer_id.empty()) {
    return;
  }
  const auto slot = loop_.shared.stored_answers.find(answer_id, loop_.loop.now());
  if (const auto target = slot ? target_at(state, route, *slot) : std::nullopt) {
    forwarding.goes_to(*target, Forwarding::Holder::kPreferred);
  }
}

http::Task<std::expected<Ending, OwnError>> Session::forward_to_holder(const GatewayState& state,
                                                                       std::string_view answer_id) {
  facts_.endpoint = openai::Endpoint::kResponses;
  const auto caller = identify(state);
  if (!caller) {
    co_return std::unexpected(co_await refuse_stranger(caller.error()));
  }
  const auto body = co_await client_.read_body();
  if (!body) {
    co_return std::unexpected(body_error(body.error()));
  }
  facts_.bytes_in = body->size();
  const auto slot = loop_.shared.stored_answers.find(answer_id, loop_.loop.now());
  const auto held = slot ? find_holder(state, *caller, *slot) : std::nullopt;
  if (!held) {
    co_return std::unexpected(unknown_answer(answer_id));
  }
  facts_.route = held->route->index;
  auto admission = admit(*caller, *held->route, {});
  if (!admission) {
    co_return std::unexpected(std::move(admission.error()));
  }
  loop_.shared.retry_budget.count_request(loop_.index);
  ParsedRequest request(loop_, openai::Endpoint::kResponses, {}, *body);
  Forwarding forwarding(loop_, client_, state, *held->route, request, facts_);
  forwarding.goes_to(held->target, Forwarding::Holder::kOnly);
  auto ended = co_await forwarding.run();
  settle(*admission);
  co_return ended;
}

}  // namespace rolter::proxy
