#include "rolter/config/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>
#include <type_traits>
#include <utility>

namespace rolter::config {
struct ParserGaveUp {};
}  // namespace rolter::config

// toml++ 3.3 asserts where some inputs break it ("[[[table]]"), and in release builds takes for
// granted that they never come. Here a broken assertion is one more fault of the file.
#undef NDEBUG
#define TOML_ASSERT(expr) ((expr) ? static_cast<void>(0) : throw ::rolter::config::ParserGaveUp())
#include <toml++/toml.h>

namespace rolter::config {
namespace {

// toml++ bounds nested values but not dotted keys, and a table that deep overflows the stack when
// it is destroyed.
constexpr std::size_t kMaxDotsInARow = 200;

Position to_position(const toml::source_position& from) {
  return {from.line, from.column};
}

/// TOML's years reach from 0 to 9999; the wall clock's nanoseconds only to 2262. What is outside,
/// or before 1970, becomes the nearest instant that is not.
WallTime to_instant(const toml::date_time& from) {
  using std::chrono::minutes;
  const std::chrono::year_month_day day{std::chrono::year{from.date.year},
                                        std::chrono::month{from.date.month},
                                        std::chrono::day{from.date.day}};
  const auto time_of_day = std::chrono::hours{from.time.hour} + minutes{from.time.minute} +
                           std::chrono::seconds{from.time.second} +
                           std::chrono::microseconds{from.time.nanosecond / 1000};
  const minutes offset{from.offset ? from.offset->minutes : 0};
  using std::chrono::microseconds;
  const microseconds since_1970 =
      std::chrono::sys_days{day}.time_since_epoch() + time_of_day - offset;
  constexpr auto kLatest = std::chrono::floor<microseconds>(WallTime::max().time_since_epoch());
  return WallTime{std::clamp(since_1970, microseconds::zero(), kLatest)};
}

Value convert(const toml::node& node);

Table convert_table(const toml::table& from) {
  Table entries;
  entries.reserve(from.size());
  for (const auto& [key, node] : from) {
    entries.push_back(
        Entry{std::string(key.str()), to_position(key.source().begin), convert(node)});
  }
  std::ranges::sort(entries, {}, &Entry::at);
  return entries;
}

Array convert_array(const toml::array& from) {
  Array values;
  values.reserve(from.size());
  for (const toml::node& node : from) {
    values.push_back(convert(node));
  }
  return values;
}

Value convert(const toml::node& node) {
  Value value;
  value.at = to_position(node.source().begin);
  node.visit([&value](const auto& typed) {
    using Node = std::decay_t<decltype(typed)>;
    if constexpr (toml::is_table<Node>) {
      value.data = convert_table(typed);
    } else if constexpr (toml::is_array<Node>) {
      value.data = convert_array(typed);
    } else if constexpr (toml::is_date_time<Node>) {
      value.data = DateTime{to_instant(typed.get()), typed.get().offset.has_value()};
    } else if constexpr (toml::is_date<Node> || toml::is_time<Node>) {
      value.data = DateTime{};
    } else {
      value.data = typed.get();
    }
  });
  return value;
}

/// The library's words. A number it could not read is not repeated: an unquoted secret may look
/// like one.
std::string describe(const toml::parse_error& error) {
  const std::string text(error.description());
  const bool quotes_the_value = text.find("representable") != std::string::npos ||
                                text.find("interpret '") != std::string::npos;
  return quotes_the_value ? text.substr(0, text.find('\'')) + "a number out of range" : text;
}

/// The line on which more than kMaxDotsInARow dots stand in one run that could be a dotted key.
std::optional<std::size_t> line_of_overlong_key(std::string_view text) {
  std::size_t line = 1;
  std::size_t dots = 0;
  for (const char c : text) {
    if (c == '.') {
      if (++dots > kMaxDotsInARow) {
        return line;
      }
    } else if (std::string_view("\n=,[]{}#").find(c) != std::string_view::npos) {
      dots = 0;
      line += c == '\n' ? 1 : 0;
    }
  }
  return std::nullopt;
}

/// The end of a string that begins at `at` with a quote: behind its closing one, or where its line
/// or the text ends.
std::size_t end_of_string(std::string_view text, std::size_t at) {
  const char quote = text[at];
  const std::string_view triple = quote == '"' ? R"(""")" : "'''";
  const bool is_long = text.substr(at).starts_with(triple);
  for (at += is_long ? 3 : 1; at < text.size(); ++at) {
    if (quote == '"' && text[at] == '\\') {
      ++at;
    } else if (is_long ? text.substr(at).starts_with(triple) : text[at] == quote) {
      return at + (is_long ? 3 : 1);
    } else if (!is_long && text[at] == '\n') {
      return at;
    }
  }
  return text.size();
}

/// The first character outside ASCII that stands in neither quotes nor a comment. TOML has none
/// there (1.0.0), and on some of them toml++ 3.3 runs into what it holds to be unreachable.
std::optional<Position> stray_character(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  std::size_t at = text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  Position here{1, 1};
  std::size_t line_begin = at;
  while (at < text.size()) {
    const char c = text[at];
    if (static_cast<unsigned char>(c) >= 0x80) {
      here.column = at - line_begin + 1;
      return here;
    }
    std::size_t next = at + 1;
    if (c == '#') {
      next = std::min(text.find('\n', at), text.size());
    } else if (c == '"' || c == '\'') {
      next = end_of_string(text, at);
    }
    for (; at < next && at < text.size(); ++at) {
      if (text[at] == '\n') {
        ++here.line;
        line_begin = at + 1;
      }
    }
  }
  return std::nullopt;
}

std::unexpected<Finding> syntax_fault(Position at, std::string message) {
  return std::unexpected(Finding{Severity::kError, at.line, at.column, "", std::move(message)});
}

/// nullopt when the library gives up on the text.
std::optional<toml::parse_result> try_parse(std::string_view text) {
  try {
    return toml::parse(text);
  } catch (const ParserGaveUp&) {
    return std::nullopt;
  }
}

/// The first line that makes the library give up: what comes before it parses or fails as usual.
std::size_t line_of_giving_up(std::string_view text) {
  std::vector<std::size_t> line_ends;
  for (std::size_t at = text.find('\n'); at != std::string_view::npos;
       at = text.find('\n', at + 1)) {
    line_ends.push_back(at);
  }
  const auto found = std::ranges::partition_point(
      line_ends, [text](std::size_t end) { return try_parse(text.substr(0, end)).has_value(); });
  return static_cast<std::size_t>(found - line_ends.begin()) + 1;
}

}  // namespace

const Entry* find_entry(const Table& table, std::string_view key) {
  const auto found = std::ranges::find(table, key, &Entry::key);
  return found == table.end() ? nullptr : &*found;
}

std::expected<Value, Finding> parse_document(std::string_view text) {
  if (const auto line = line_of_overlong_key(text)) {
    return syntax_fault({*line, 1},
                        fmt::format("more than {} dots in a row; shorten the key", kMaxDotsInARow));
  }
  if (const auto at = stray_character(text)) {
    return syntax_fault(*at, "not valid TOML: outside quotes and comments only ASCII may stand");
  }
  const std::optional<toml::parse_result> parsed = try_parse(text);
  if (!parsed) {
    return syntax_fault({line_of_giving_up(text), 1}, "not valid TOML: this line cannot be read");
  }
  if (!*parsed) {
    const toml::parse_error& error = parsed->error();
    return syntax_fault(to_position(error.source().begin),
                        fmt::format("not valid TOML: {}", describe(error)));
  }
  return convert(parsed->table());
}

std::optional<DateTime> parse_date_time(std::string_view text) {
  if (text.empty() || text.find_first_not_of("0123456789-:.+TtZz ") != std::string_view::npos) {
    return std::nullopt;
  }
  const std::optional<toml::parse_result> parsed = try_parse(fmt::format("t = {}", text));
  const bool is_date_time = parsed && *parsed && parsed->table()["t"].as_date_time() != nullptr;
  if (!is_date_time) {
    return std::nullopt;
  }
  const toml::date_time& time = parsed->table()["t"].as_date_time()->get();
  return DateTime{to_instant(time), time.offset.has_value()};
}

Position locate(const Value& root, std::string_view path) {
  const Value* value = &root;
  Position at = root.at;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find_first_of(".[", 1), path.size());
    std::string_view step = path.substr(0, end);
    path.remove_prefix(end);
    if (step.front() == '[') {
      std::size_t index = 0;
      std::from_chars(step.data() + 1, step.data() + step.size(), index);
      const auto* array = std::get_if<Array>(&value->data);
      if (array == nullptr || index >= array->size()) {
        return at;
      }
      value = &(*array)[index];
    } else {
      step.remove_prefix(step.front() == '.' ? 1 : 0);
      const auto* table = std::get_if<Table>(&value->data);
      const Entry* entry = table == nullptr ? nullptr : find_entry(*table, step);
      if (entry == nullptr) {
        return at;
      }
      value = &entry->value;
    }
    at = value->at;
  }
  return at;
}

}  // namespace rolter::config
