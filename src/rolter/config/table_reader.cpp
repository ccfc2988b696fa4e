#include "rolter/config/table_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "rolter/config/environment.h"
#include "rolter/config/suggest.h"

namespace rolter::config {
namespace {

constexpr std::array<std::string_view, 7> kTypeNames = {
    "a table", "a list", "a string", "a whole number", "a fraction", "true or false", "a date"};

std::string_view type_name(const Value& value) {
  return kTypeNames[value.data.index()];
}

/// The table that takes `key`, for a key that stands in the wrong one.
std::string home_of(std::string_view key) {
  const std::string suffix = fmt::format(".{}", key);
  for (const KeyInfo& known : accepted_keys()) {
    if (known.path.ends_with(suffix)) {
      return table_header(known.path);
    }
  }
  return "";
}

}  // namespace

TableReader::TableReader(LoadContext& context, const Table& table, Position at, std::string path)
    : context_(context), table_(table), at_(at), path_(std::move(path)) {}

TableReader::~TableReader() {
  if (context_.catalog == nullptr) {
    report_unknown_keys();
  }
}

void TableReader::report_unknown_keys() {
  for (const Entry& entry : table_) {
    if (std::ranges::find(asked_, entry.key) != asked_.end()) {
      continue;
    }
    std::string message = "unknown key";
    const std::string home = home_of(entry.key);
    if (nearest(entry.key, asked_).empty() && !home.empty()) {
      message += fmt::format("; it belongs in {}", home);
    } else {
      message += suggestion(entry.key, asked_, "; known here:");
    }
    context_.findings.error(entry.at, path_of(entry.key), std::move(message));
  }
}

const Value* TableReader::take(std::string_view key, std::string_view type,
                               std::string default_value) {
  asked_.push_back(key);
  if (context_.catalog != nullptr) {
    context_.catalog->push_back({path_of(key), type, std::move(default_value)});
  }
  const Entry* entry = find_entry(table_, key);
  return entry == nullptr ? nullptr : &entry->value;
}

bool TableReader::has(std::string_view key) const {
  return find_entry(table_, key) != nullptr;
}

std::string TableReader::path_of(std::string_view key) const {
  if (key.empty() || path_.empty()) {
    return key.empty() ? path_ : std::string(key);
  }
  return fmt::format("{}.{}", path_, key);
}

Position TableReader::place_of(std::string_view key) const {
  const Entry* entry = find_entry(table_, key);
  return entry == nullptr ? at_ : entry->value.at;
}

void TableReader::error(std::string_view key, std::string message) {
  context_.findings.error(place_of(key), path_of(key), std::move(message));
}

void TableReader::warning(std::string_view key, std::string message) {
  context_.findings.warning(place_of(key), path_of(key), std::move(message));
}

void TableReader::wrong_type(const Value& value, const std::string& path, std::string_view wanted) {
  const bool quoted = std::holds_alternative<std::string>(value.data) &&
                      (wanted.starts_with("a whole") || wanted.starts_with("a number") ||
                       wanted.starts_with("true"));
  const bool bare = wanted == "a string" && !std::holds_alternative<Table>(value.data) &&
                    !std::holds_alternative<Array>(value.data);
  context_.findings.error(value.at, path,
                          fmt::format("must be {}, but is {}{}", wanted, type_name(value),
                                      quoted ? "; write it without quotes"
                                      : bare ? "; write it in quotes"
                                             : ""));
}

std::optional<Text> TableReader::resolve(const Value& value, const std::string& path) {
  const auto* written = std::get_if<std::string>(&value.data);
  if (written == nullptr) {
    wrong_type(value, path, "a string");
    return std::nullopt;
  }
  auto expanded = expand(*written, context_.environment);
  if (!expanded) {
    context_.findings.error(value.at, path, expanded.error());
    return std::nullopt;
  }
  if (has_control_character(*expanded)) {
    context_.findings.error(value.at, path,
                            "holds a control character, such as a line end; remove it");
    return std::nullopt;
  }
  return Text{*std::move(expanded), *written, value.at};
}

void TableReader::table(std::string_view key, absl::FunctionRef<void(TableReader&)> read) {
  asked_.push_back(key);
  if (context_.catalog != nullptr) {
    const Table none;
    TableReader reader(context_, none, {}, path_of(key));
    read(reader);
    return;
  }
  const Entry* entry = find_entry(table_, key);
  if (entry == nullptr) {
    return;
  }
  const auto* inner = std::get_if<Table>(&entry->value.data);
  if (inner == nullptr) {
    const std::string header = table_header(path_of(key) + ".");
    wrong_type(entry->value, path_of(key), fmt::format("a table ({})", header));
    return;
  }
  TableReader reader(context_, *inner, entry->value.at, path_of(key));
  read(reader);
}

bool TableReader::tables(std::string_view key, absl::FunctionRef<void(TableReader&)> read) {
  asked_.push_back(key);
  if (context_.catalog != nullptr) {
    const Table none;
    TableReader reader(context_, none, {}, path_of(key) + "[]");
    read(reader);
    return true;
  }
  const Entry* entry = find_entry(table_, key);
  if (entry == nullptr) {
    return false;
  }
  const std::string path = path_of(key);
  const std::string wanted = fmt::format("a list of tables ({})", table_header(path + "[]."));
  const auto* elements = std::get_if<Array>(&entry->value.data);
  if (elements == nullptr) {
    wrong_type(entry->value, path, wanted);
    return true;
  }
  for (std::size_t i = 0; i < elements->size(); ++i) {
    const Value& element = (*elements)[i];
    const std::string element_path = fmt::format("{}[{}]", path, i);
    const auto* inner = std::get_if<Table>(&element.data);
    if (inner == nullptr) {
      wrong_type(element, element_path, "a table");
      continue;
    }
    TableReader reader(context_, *inner, element.at, element_path);
    read(reader);
  }
  return !elements->empty();
}

}  // namespace rolter::config
