#include "rolter/simulator/request_body.h"

#include <simdjson.h>

#include <utility>

namespace rolter::simulator {
namespace {

namespace dom = simdjson::dom;

constexpr std::size_t kEscapeLength = 6;  // \uXXXX

/// The code unit of a \uXXXX escape at `at`, or 0.
unsigned escaped_unit(std::string_view json, std::size_t at) {
  if (at + kEscapeLength > json.size() || json[at] != '\\' || json[at + 1] != 'u') {
    return 0;
  }
  unsigned unit = 0;
  for (std::size_t i = at + 2; i < at + kEscapeLength; ++i) {
    const char c = json[i];
    const bool digit = c >= '0' && c <= '9';
    const bool letter = (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    if (!digit && !letter) {
      return 0;
    }
    unit = unit * 16 + static_cast<unsigned>(digit ? c - '0' : (c | 0x20) - 'a' + 10);
  }
  return unit;
}

bool is_high(unsigned unit) {
  return unit >= 0xD800 && unit < 0xDC00;
}
bool is_low(unsigned unit) {
  return unit >= 0xDC00 && unit < 0xE000;
}

std::string without_lone_surrogates(std::string_view json) {
  std::string out(json);
  for (std::size_t at = out.find('\\'); at != std::string::npos; at = out.find('\\', at)) {
    const unsigned unit = escaped_unit(out, at);
    if (is_high(unit) && is_low(escaped_unit(out, at + kEscapeLength))) {
      at += 2 * kEscapeLength;
    } else if (is_high(unit) || is_low(unit)) {
      out.replace(at, kEscapeLength, "\\ufffd");
      at += kEscapeLength;
    } else {
      at += 2;
    }
  }
  return out;
}

simdjson::simdjson_result<dom::element> member(const JsonValue& object, std::string_view key) {
  return object.at_key(key);
}

}  // namespace

struct RequestBody::Impl {
  dom::parser parser;
  dom::element root;
};

Parsed<RequestBody> RequestBody::parse(std::string_view body) {
  auto impl = std::make_unique<Impl>();
  auto error = impl->parser.parse(body.data(), body.size()).get(impl->root);
  if (error == simdjson::STRING_ERROR) {
    const std::string repaired = without_lone_surrogates(body);
    error = impl->parser.parse(repaired).get(impl->root);
  }
  if (error != simdjson::SUCCESS) {
    return std::unexpected(ApiFault{400, "Bad Request",
                                    std::string("1 validation error:\n  {'type': 'json_invalid', "
                                                "'loc': 'body', 'msg': 'JSON decode error', "
                                                "'ctx': {'error': '") +
                                        simdjson::error_message(error) + "'}}",
                                    "body"});
  }
  if (!impl->root.is_object()) {
    return std::unexpected(
        ApiFault{400, "Bad Request",
                 "1 validation error:\n  {'loc': 'body', 'msg': 'not an object'}", "body"});
  }
  return RequestBody(std::move(impl));
}

RequestBody::RequestBody(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RequestBody::RequestBody(RequestBody&&) noexcept = default;
RequestBody& RequestBody::operator=(RequestBody&&) noexcept = default;
RequestBody::~RequestBody() = default;

const JsonValue& RequestBody::root() const {
  return impl_->root;
}

bool has_member(const JsonValue& object, std::string_view key) {
  dom::element value;
  return member(object, key).get(value) == simdjson::SUCCESS && !value.is_null();
}

std::string text_member(const JsonValue& object, std::string_view key) {
  std::string_view text;
  return member(object, key).get(text) == simdjson::SUCCESS ? std::string(text) : std::string();
}

std::optional<std::int64_t> integer_member(const JsonValue& object, std::string_view key) {
  std::int64_t value = 0;
  if (member(object, key).get(value) != simdjson::SUCCESS) {
    return std::nullopt;
  }
  return value;
}

std::optional<double> number_member(const JsonValue& object, std::string_view key) {
  double value = 0.0;
  if (member(object, key).get(value) != simdjson::SUCCESS) {
    return std::nullopt;
  }
  return value;
}

bool flag_member(const JsonValue& object, std::string_view key) {
  bool value = false;
  return member(object, key).get(value) == simdjson::SUCCESS && value;
}

std::string json_member(const JsonValue& object, std::string_view key) {
  dom::element value;
  if (member(object, key).get(value) != simdjson::SUCCESS || value.is_null()) {
    return {};
  }
  return simdjson::minify(value);
}

}  // namespace rolter::simulator
