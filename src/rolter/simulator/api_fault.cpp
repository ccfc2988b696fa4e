#include "rolter/simulator/api_fault.h"

#include <fmt/format.h>

#include "rolter/simulator/json_writer.h"

namespace rolter::simulator {

std::string fault_body(const ApiFault& fault, FaultShape shape) {
  JsonWriter json;
  json.object();
  if (shape == FaultShape::kAnthropic) {
    json.text("type", "error").object("error").text("type", fault.type);
    json.text("message", fault.message).end();
  } else {
    json.object("error").text("message", fault.message).text("type", fault.type);
    if (fault.param.empty()) {
      json.null("param");
    } else {
      json.text("param", fault.param);
    }
    json.number("code", static_cast<std::uint64_t>(fault.status)).end();
  }
  return json.end().take();
}

ApiFault bad_parameter(std::string_view name, std::string_view value, std::string_view complaint) {
  return {400, "BadRequestError",
          fmt::format("{} (parameter={}, value={})", complaint, name, value), std::string(name)};
}

ApiFault missing_field(std::string_view name) {
  return {400, "Bad Request",
          fmt::format("1 validation error:\n  {{'type': 'missing', 'loc': 'body.{}', 'msg': 'Field "
                      "required'}}",
                      name),
          fmt::format("body.{}", name)};
}

ApiFault invalid_field(std::string_view name, std::string_view complaint) {
  return {400, "Bad Request",
          fmt::format("1 validation error:\n  {{'loc': 'body.{}', 'msg': '{}'}}", name, complaint),
          fmt::format("body.{}", name)};
}

ApiFault unknown_model(std::string_view model, std::string_view aliases) {
  return {404, "NotFoundError",
          fmt::format("The model `{}` does not exist. Valid aliases: {}.", model, aliases),
          "model"};
}

ApiFault engine_busy() {
  return {503, "Service Unavailable",
          "The engine is currently busy and cannot accept new requests. Please try again later or "
          "on a different instance.",
          ""};
}

ApiFault engine_dead() {
  return {500, "InternalServerError",
          "EngineCore encountered an issue. See stack trace (above) for the root cause.", ""};
}

}  // namespace rolter::simulator
