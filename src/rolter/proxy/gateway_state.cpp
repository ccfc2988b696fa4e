#include "rolter/proxy/gateway_state.h"

namespace rolter::proxy {

const Route* GatewayState::find_route(std::string_view model) const {
  if (const auto found = route_by_model.find(model); found != route_by_model.end()) {
    return &routes[found->second];
  }
  return catch_all ? &routes[*catch_all] : nullptr;
}

}  // namespace rolter::proxy
