#include "rolter/http/head.h"

#include <algorithm>
#include <array>

namespace rolter::http {
namespace {

constexpr char to_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) {
    text.remove_prefix(1);
  }
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) {
    text.remove_suffix(1);
  }
  return text;
}

bool list_has(std::string_view list, std::string_view token) {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    if (iequals(trim(list.substr(0, comma)), token)) {
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

bool iequals(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) {
           return to_lower(x) == to_lower(y);
         });
}

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

bool is_hop_by_hop(std::string_view name, const Fields& fields) {
  static constexpr std::array<std::string_view, 9> kNames{
      "proxy-authorization", "connection", "keep-alive", "proxy-connection",
      "transfer-encoding",   "te",         "upgrade",    "trailer",
      "proxy-authenticate"};
  if (std::ranges::any_of(kNames,
                          [name](std::string_view known) { return iequals(name, known); })) {
    return true;
  }
  return fields.lists("connection", name);
}

}  // namespace rolter::http
