// The typed getters of TableReader: one value each.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "rolter/config/environment.h"
#include "rolter/config/suggest.h"
#include "rolter/config/table_reader.h"

namespace rolter::config {
namespace {

// Ten years: longer is a slip, and the sum of any two stays far from overflow.
constexpr double kLongestMillis = 315'360'000'000.0;

std::string range_of(IntegerRange range) {
  const bool is_open = range.max == std::numeric_limits<std::uint64_t>::max();
  return is_open ? fmt::format("at least {}", range.min)
                 : fmt::format("from {} to {}", range.min, range.max);
}

std::string range_of(NumberRange range) {
  if (range.above_min) {
    return std::isinf(range.max)
               ? fmt::format("greater than {}", range.min)
               : fmt::format("greater than {} and at most {}", range.min, range.max);
  }
  return std::isinf(range.max) ? fmt::format("at least {}", range.min)
                               : fmt::format("from {} to {}", range.min, range.max);
}

bool is_inside(double value, NumberRange range) {
  return std::isfinite(value) && value <= range.max &&
         (range.above_min ? value > range.min : value >= range.min);
}

std::string fault_of(double value, const std::string& range) {
  return value < 0 ? fmt::format("must not be negative, but is {}", value)
                   : fmt::format("must be {}, but is {}", range, value);
}

milliseconds to_millis(double value, double unit) {
  const double millis = std::round(value * unit);
  // What is above 0 stays above 0, which would mean something else.
  return milliseconds{static_cast<std::int64_t>(value > 0 ? std::max(millis, 1.0) : millis)};
}

NumberRange duration_range(double unit, Zero zero) {
  return {.min = 0, .max = kLongestMillis / unit, .above_min = zero == Zero::kRefused};
}

std::string in_unit(milliseconds value, double unit) {
  return fmt::format("{}", static_cast<double>(value.count()) / unit);
}

std::string quoted(std::string_view text) {
  return fmt::format("\"{}\"", text);
}

}  // namespace

void TableReader::flag(std::string_view key, bool& out) {
  if (const Value* value = take(key, "boolean", out ? "true" : "false")) {
    if (const bool* flag = std::get_if<bool>(&value->data)) {
      out = *flag;
    } else {
      wrong_type(*value, path_of(key), "true or false");
    }
  }
}

std::optional<std::uint64_t> TableReader::read_integer(std::string_view key,
                                                       std::optional<std::uint64_t> standing,
                                                       IntegerRange range) {
  const Value* value = take(key, "integer", standing ? fmt::format("{}", *standing) : "");
  if (value == nullptr) {
    return std::nullopt;
  }
  const auto* number = std::get_if<std::int64_t>(&value->data);
  if (number == nullptr) {
    wrong_type(*value, path_of(key), fmt::format("a whole number {}", range_of(range)));
    return std::nullopt;
  }
  if (*number < 0) {
    error(key, fmt::format("must not be negative, but is {}", *number));
    return std::nullopt;
  }
  const auto read = static_cast<std::uint64_t>(*number);
  if (read < range.min || read > range.max) {
    error(key, fmt::format("must be {}, but is {}", range_of(range), read));
    return std::nullopt;
  }
  return read;
}

std::optional<double> TableReader::read_number(std::string_view key, std::string_view type,
                                               std::string default_value, NumberRange range) {
  const Value* value = take(key, type, std::move(default_value));
  if (value == nullptr) {
    return std::nullopt;
  }
  double number = 0.0;
  if (const auto* whole = std::get_if<std::int64_t>(&value->data)) {
    number = static_cast<double>(*whole);
  } else if (const auto* fraction = std::get_if<double>(&value->data)) {
    number = *fraction;
  } else {
    wrong_type(*value, path_of(key), fmt::format("a number {}", range_of(range)));
    return std::nullopt;
  }
  if (!is_inside(number, range)) {
    error(key, fault_of(number, range_of(range)));
    return std::nullopt;
  }
  return number;
}

void TableReader::number(std::string_view key, double& out, NumberRange range) {
  out = read_number(key, "number", fmt::format("{}", out), range).value_or(out);
}

void TableReader::number(std::string_view key, std::optional<double>& out, NumberRange range) {
  if (const auto read = read_number(key, "number", "", range)) {
    out = read;
  }
}

void TableReader::secs(std::string_view key, milliseconds& out, Zero zero) {
  const auto read = read_number(key, "seconds", in_unit(out, 1000), duration_range(1000, zero));
  out = read ? to_millis(*read, 1000) : out;
}

void TableReader::secs(std::string_view key, std::optional<milliseconds>& out) {
  if (const auto read = read_number(key, "seconds", "", duration_range(1000, Zero::kAllowed))) {
    out = to_millis(*read, 1000);
  }
}

void TableReader::millis(std::string_view key, milliseconds& out, Zero zero) {
  const auto read = read_number(key, "milliseconds", in_unit(out, 1), duration_range(1, zero));
  out = read ? to_millis(*read, 1) : out;
}

std::optional<Text> TableReader::parsed_text(std::string_view key, std::string_view type,
                                             Presence presence, std::string default_value) {
  const bool required = presence == Presence::kRequired;
  const Value* value = take(key, type, required ? "required" : std::move(default_value));
  if (value == nullptr) {
    if (required) {
      error("", fmt::format("\"{}\" is missing", key));
    }
    return std::nullopt;
  }
  std::optional<Text> text = resolve(*value, path_of(key));
  if (text && required && text->value.empty()) {
    error(key, "must not be empty");
    return std::nullopt;
  }
  return text;
}

void TableReader::text(std::string_view key, std::string& out, Presence presence) {
  if (std::optional<Text> read = parsed_text(key, "string", presence, quoted(out))) {
    out = std::move(read->value);
  }
}

std::vector<Text> TableReader::parsed_texts(std::string_view key, std::string_view type) {
  std::vector<Text> texts;
  const Value* value = take(key, type, "[]");
  if (value == nullptr) {
    return texts;
  }
  const auto* elements = std::get_if<Array>(&value->data);
  if (elements == nullptr) {
    wrong_type(*value, path_of(key), "a list of strings");
    return texts;
  }
  for (std::size_t i = 0; i < elements->size(); ++i) {
    const std::string path = fmt::format("{}[{}]", path_of(key), i);
    std::optional<Text> text = resolve((*elements)[i], path);
    if (text && text->value.empty()) {
      context_.findings.error(text->at, path, "must not be empty");
    } else if (text) {
      texts.push_back(*std::move(text));
    }
  }
  return texts;
}

void TableReader::texts(std::string_view key, std::vector<std::string>& out) {
  for (Text& text : parsed_texts(key, "list of strings")) {
    out.push_back(std::move(text.value));
  }
}

void TableReader::http_path(std::string_view key, std::string& out) {
  const auto text = parsed_text(key, "path", Presence::kOptional, quoted(out));
  if (!text) {
    return;
  }
  if (!text->value.starts_with('/') || text->value.find_first_of(" ?#") != std::string::npos) {
    error(key, fmt::format("\"{}\" is not a path; it must start with \"/\" and hold no blank, "
                           "\"?\" or \"#\"",
                           text->shown));
    return;
  }
  out = text->value;
}

void TableReader::date_time(std::string_view key, std::optional<WallTime>& out) {
  const Value* value = take(key, "date-time", "");
  if (value == nullptr) {
    return;
  }
  std::optional<DateTime> read;
  if (const auto* time = std::get_if<DateTime>(&value->data)) {
    read = *time;
  } else if (std::holds_alternative<std::string>(value->data)) {
    const auto text = resolve(*value, path_of(key));
    if (!text) {
      return;
    }
    read = parse_date_time(text->value);
  }
  if (!read || !read->has_offset) {
    error(key, "must be a date and time with an offset, such as 2027-01-31T00:00:00Z");
    return;
  }
  out = read->instant;
}

void TableReader::secret(std::string_view key, std::string_view env_key, Secret& out,
                         Presence presence) {
  const Value* literal = take(key, "secret", presence == Presence::kRequired ? "required" : "");
  const Value* variable = take(env_key, "string", "");
  if (literal != nullptr && variable != nullptr) {
    error(env_key, fmt::format("give either {} or {}, not both", key, env_key));
  } else if (literal != nullptr) {
    const std::optional<Text> text = resolve(*literal, path_of(key));
    if (text && text->value.empty()) {
      error(key, "must not be empty");
    } else if (text) {
      if (!has_reference(text->shown)) {
        warning(key, fmt::format("a literal secret; {} or ${{VARIABLE}} keeps it out of the file",
                                 env_key));
      }
      out = Secret(text->value);
    }
  } else if (variable != nullptr) {
    const std::optional<Text> name = resolve(*variable, path_of(env_key));
    const auto value =
        name ? look_up(name->value, context_.environment) : std::unexpected(std::string());
    if (value) {
      out = Secret(*value);
    } else if (name) {
      error(env_key, value.error());
    }
  } else if (presence == Presence::kRequired) {
    error("", fmt::format("\"{}\" is missing; {} names a variable that holds it", key, env_key));
  }
}

std::vector<std::pair<std::string, Text>> TableReader::pairs(std::string_view key) {
  std::vector<std::pair<std::string, Text>> read;
  const Value* value = take(key, "table of strings", "{}");
  if (value == nullptr) {
    return read;
  }
  const auto* table = std::get_if<Table>(&value->data);
  if (table == nullptr) {
    wrong_type(*value, path_of(key), "a table of strings");
    return read;
  }
  for (const Entry& entry : *table) {
    if (auto text = resolve(entry.value, fmt::format("{}.{}", path_of(key), entry.key))) {
      read.emplace_back(entry.key, *std::move(text));
    }
  }
  return read;
}

std::size_t TableReader::read_choice(std::string_view key, std::size_t standing,
                                     std::span<const std::string_view> words,
                                     std::string_view noun) {
  const auto text = parsed_text(key, "one of", Presence::kOptional, quoted(words[standing]));
  if (!text) {
    return standing;
  }
  const auto found = std::ranges::find(words, text->value);
  if (found == words.end()) {
    error(key, fmt::format("unknown {} \"{}\"{}", noun, text->shown,
                           suggestion(text->value, words, "; known:")));
    return standing;
  }
  return static_cast<std::size_t>(found - words.begin());
}

}  // namespace rolter::config
