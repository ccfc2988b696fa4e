// docs/operations/configuration.md against the loader: every key, its type and its default.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "rolter/config/catalog.h"

namespace rolter::config {
namespace {

struct Row {
  std::string type;
  std::string default_value;
};

/// "| a | b |" -> {"a", "b"}.
std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> out;
  std::istringstream in(line.substr(1));
  for (std::string cell; std::getline(in, cell, '|');) {
    const std::size_t begin = std::min(cell.find_first_not_of(' '), cell.size());
    out.push_back(cell.substr(begin, cell.find_last_not_of(' ') - begin + 1));
  }
  return out;
}

std::string without_quotes(std::string text) {
  std::erase(text, '`');
  return text;
}

/// "[[routes.targets]] weight" -> row, of every table below a heading that names a TOML table.
std::map<std::string, Row> read_reference() {
  std::ifstream file(ROLTER_CONFIG_REFERENCE);
  std::map<std::string, Row> rows;
  std::string header;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#")) {
      const std::size_t open = line.find("`[");
      header = open == std::string::npos ? "" : without_quotes(line.substr(open));
    } else if (line.starts_with("| `") && !header.empty()) {
      const std::vector<std::string> row = cells(line);
      EXPECT_GE(row.size(), 4U) << line;
      const bool is_new =
          rows.emplace(header + " " + without_quotes(row[0]), Row{row[1], without_quotes(row[2])})
              .second;
      EXPECT_TRUE(is_new) << line;
    }
  }
  return rows;
}

std::string name_of(const KeyInfo& key) {
  return table_header(key.path) + " " + key.path.substr(key.path.rfind('.') + 1);
}

TEST(Reference, describes_every_key_the_loader_accepts_as_it_is) {
  const std::map<std::string, Row> rows = read_reference();
  ASSERT_FALSE(rows.empty());
  for (const KeyInfo& key : accepted_keys()) {
    const auto row = rows.find(name_of(key));
    ASSERT_NE(row, rows.end()) << name_of(key) << " is missing";
    EXPECT_EQ(row->second.type, key.type) << name_of(key);
    if (!key.default_value.empty()) {
      EXPECT_EQ(row->second.default_value, key.default_value) << name_of(key);
    }
  }
}

TEST(Reference, describes_no_key_that_the_loader_refuses) {
  for (const auto& [name, row] : read_reference()) {
    EXPECT_TRUE(std::ranges::any_of(accepted_keys(), [&](const KeyInfo& key) {
      return name_of(key) == name;
    })) << name;
  }
}

TEST(Reference, every_table_has_its_header) {
  EXPECT_EQ(table_header("retry.budget"), "[retry]");
  EXPECT_EQ(table_header("routes[].targets[].weight"), "[[routes.targets]]");
  EXPECT_EQ(table_header("providers[3].kv_events.topic"), "[providers.kv_events]");
  EXPECT_EQ(table_header("server"), "");
}

}  // namespace
}  // namespace rolter::config
