#pragma once

#include <absl/functional/function_ref.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rolter/config/catalog.h"
#include "rolter/config/config.h"
#include "rolter/config/document.h"
#include "rolter/config/findings.h"
#include "rolter/config/names.h"

namespace rolter::config {

/// What the readers of one load share.
struct LoadContext {
  const Environment& environment;
  Findings& findings;
  std::vector<KeyInfo>* catalog = nullptr;  // when listing keys: every table is visited once, empty
};

enum class Presence : std::uint8_t { kOptional, kRequired };

/// 0 is refused where it could mean neither "no limit" nor "off".
enum class Zero : std::uint8_t { kAllowed, kRefused };

struct IntegerRange {
  std::uint64_t min = 0;
  std::uint64_t max = std::numeric_limits<std::uint64_t>::max();
};

struct NumberRange {
  double min = 0.0;
  double max = std::numeric_limits<double>::infinity();
  bool above_min = false;  // min itself is outside
};

/// A string of the file with its references to the environment resolved.
struct Text {
  std::string value;
  std::string shown;  // as written: what messages may repeat
  Position at;
};

/// Typed reading of one table. Each getter takes a key, checks type and range, and leaves `out`
/// (the default) alone when the key is absent or wrong; faults go to the context's findings with
/// their place. When the reader is destroyed, every key that no getter asked for is reported as
/// unknown, with the nearest known one. Keys are literals: the reader keeps views of them.
class TableReader {
 public:
  /// `table` must outlive the reader. `path` is "" for the root.
  TableReader(LoadContext& context, const Table& table, Position at, std::string path);
  ~TableReader();
  TableReader(const TableReader&) = delete;
  TableReader& operator=(const TableReader&) = delete;

  void flag(std::string_view key, bool& out);
  void number(std::string_view key, double& out, NumberRange range = {});
  void number(std::string_view key, std::optional<double>& out, NumberRange range = {});
  template <std::unsigned_integral T>
  void integer(std::string_view key, T& out, IntegerRange range = {}) {
    range.max = std::min<std::uint64_t>(range.max, std::numeric_limits<T>::max());
    out = static_cast<T>(read_integer(key, out, range).value_or(out));
  }
  template <std::unsigned_integral T>
  void integer(std::string_view key, std::optional<T>& out, IntegerRange range = {}) {
    range.max = std::min<std::uint64_t>(range.max, std::numeric_limits<T>::max());
    if (const auto read = read_integer(key, std::nullopt, range)) {
      out = static_cast<T>(*read);
    }
  }

  /// `_secs` keys may be fractional; both round to the millisecond.
  void secs(std::string_view key, milliseconds& out, Zero zero = Zero::kAllowed);
  void secs(std::string_view key, std::optional<milliseconds>& out);
  void millis(std::string_view key, milliseconds& out, Zero zero = Zero::kAllowed);

  void text(std::string_view key, std::string& out, Presence presence = Presence::kOptional);
  void texts(std::string_view key, std::vector<std::string>& out);
  /// A path of an HTTP request: "/metrics".
  void http_path(std::string_view key, std::string& out);
  void date_time(std::string_view key, std::optional<WallTime>& out);

  /// A string for further parsing, such as a URL; nullopt when absent or already reported. `type`
  /// and `default_value` are for the catalog.
  [[nodiscard]] std::optional<Text> parsed_text(std::string_view key, std::string_view type,
                                                Presence presence, std::string default_value = "");
  [[nodiscard]] std::vector<Text> parsed_texts(std::string_view key, std::string_view type);

  /// `<key>` itself (warned about when it is literal) or `<key>_env`, the name of a variable. An
  /// empty secret is an error. `required` asks for one of the two.
  void secret(std::string_view key, std::string_view env_key, Secret& out,
              Presence presence = Presence::kOptional);

  /// A table of names and strings, such as headers; the reader checks neither.
  [[nodiscard]] std::vector<std::pair<std::string, Text>> pairs(std::string_view key);

  /// One word out of `names`; `noun` says what kind of word it is.
  template <typename T, std::size_t N>
  void choice(std::string_view key, T& out, const std::array<Named<T>, N>& names,
              std::string_view noun) {
    std::array<std::string_view, N> words;
    std::size_t standing = 0;
    for (std::size_t i = 0; i < N; ++i) {
      words[i] = names[i].name;
      standing = names[i].value == out ? i : standing;
    }
    out = names[read_choice(key, standing, words, noun)].value;
  }

  /// A table, when it is there.
  void table(std::string_view key, absl::FunctionRef<void(TableReader&)> read);
  /// Each table of a list of tables, in order. False when there is none, not even a faulty one.
  bool tables(std::string_view key, absl::FunctionRef<void(TableReader&)> read);

  [[nodiscard]] bool has(std::string_view key) const;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string path_of(std::string_view key) const;
  [[nodiscard]] LoadContext& context() { return context_; }

  /// A fault of the key's value, or of the table when the key is absent or "".
  void error(std::string_view key, std::string message);
  void warning(std::string_view key, std::string message);

 private:
  const Value* take(std::string_view key, std::string_view type, std::string default_value);
  std::optional<std::uint64_t> read_integer(std::string_view key,
                                            std::optional<std::uint64_t> standing,
                                            IntegerRange range);
  std::optional<double> read_number(std::string_view key, std::string_view type,
                                    std::string default_value, NumberRange range);
  std::size_t read_choice(std::string_view key, std::size_t standing,
                          std::span<const std::string_view> words, std::string_view noun);
  std::optional<Text> resolve(const Value& value, const std::string& path);
  void wrong_type(const Value& value, const std::string& path, std::string_view wanted);
  [[nodiscard]] Position place_of(std::string_view key) const;
  void report_unknown_keys();

  LoadContext& context_;
  const Table& table_;
  Position at_;
  std::string path_;
  std::vector<std::string_view> asked_;
};

}  // namespace rolter::config
