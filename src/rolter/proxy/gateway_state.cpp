#include "rolter/proxy/gateway_state.h"

namespace rolter::proxy {

const Route* GatewayState::find_named(std::string_view name) const {
  const auto found = route_by_model.find(name);
  return found == route_by_model.end() ? nullptr : &routes[found->second];
}

const Route* GatewayState::find_route(std::string_view model) const {
  const Route* const named = find_named(model);
  return named == nullptr && catch_all ? &routes[*catch_all] : named;
}

}  // namespace rolter::proxy
