#include "rolter/http/head.h"

#include <algorithm>
#include <array>

#include "rolter/base/ascii.h"

namespace rolter::http {
namespace {

bool list_has(std::string_view list, std::string_view token) {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    if (iequals(trim_blanks(list.substr(0, comma)), token)) {
      return true;
    }
    if (comma == std::string_view::npos) {
      return false;
    }
    list.remove_prefix(comma + 1);
  }
  return false;
}

}  // namespace

std::string_view Fields::get(std::string_view name) const {
  for (const Field& field : fields_) {
    if (iequals(field.name, name)) {
      return field.value;
    }
  }
  return {};
}

bool Fields::has(std::string_view name) const {
  return std::ranges::any_of(fields_,
                             [name](const Field& field) { return iequals(field.name, name); });
}

std::size_t Fields::count(std::string_view name) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      fields_, [name](const Field& field) { return iequals(field.name, name); }));
}

bool Fields::lists(std::string_view name, std::string_view token) const {
  return std::ranges::any_of(fields_, [&](const Field& field) {
    return iequals(field.name, name) && list_has(field.value, token);
  });
}

void Fields::rebase(const char* from, const char* to) {
  for (Field& field : fields_) {
    field.name = {to + (field.name.data() - from), field.name.size()};
    field.value = {to + (field.value.data() - from), field.value.size()};
  }
}

std::string_view reason_phrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 413:
      return "Content Too Large";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    default:
      return "Unknown";
  }
}

HopByHop::HopByHop(const Fields& fields) {
  for (const Field& field : fields) {
    if (iequals(field.name, "connection") && !iequals(field.value, "keep-alive") &&
        !iequals(field.value, "close")) {
      named_ = &fields;
    }
  }
}

bool HopByHop::covers(std::string_view name) const {
  static constexpr std::array<std::string_view, 9> kNames{
      "proxy-authorization", "connection", "keep-alive", "proxy-connection",
      "transfer-encoding",   "te",         "upgrade",    "trailer",
      "proxy-authenticate"};
  return std::ranges::any_of(kNames,
                             [name](std::string_view known) { return iequals(name, known); }) ||
         (named_ != nullptr && named_->lists("connection", name));
}

}  // namespace rolter::http
