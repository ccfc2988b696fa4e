#include "rolter/feeds/lmcache_answer.h"

#include <simdjson.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rolter/cluster/exposition_text.h"

namespace rolter::feeds {
namespace {

using cluster::LmcacheReading;
using simdjson::dom::element;

/// Of a JSON text: deeper ones are refused by the parser.
constexpr std::size_t kMostDepth = 64;

std::unexpected<Error> unusable(std::string message) {
  return fail(ErrorKind::kInvalidInput, std::move(message), ErrorSource::kUpstream);
}

Result<LmcacheReading> checked(double occupancy, bool available) {
  if (!(occupancy >= 0.0 && occupancy <= 1.0)) {
    return unusable("occupancy is not within 0 and 1");
  }
  return LmcacheReading{.occupancy = occupancy, .available = available};
}

Result<LmcacheReading> read_simple(element document) {
  double occupancy = 0;
  if (document["occupancy"].get_double().get(occupancy) != simdjson::SUCCESS) {
    return unusable("no number \"occupancy\" in the answer");
  }
  bool available = false;
  if (document["cache_available"].get_bool().get(available) != simdjson::SUCCESS) {
    return unusable("no boolean \"cache_available\" in the answer");
  }
  return checked(occupancy, available);
}

/// The first number of this name in the document, wherever it stands. Goes down with a list of its
/// own and not by recursion.
std::optional<double> find_number(element document, std::string_view name) {
  std::vector<element> open{document};
  while (!open.empty()) {
    const element at = open.back();
    open.pop_back();
    if (simdjson::dom::object object; at.get(object) == simdjson::SUCCESS) {
      for (const auto& [key, value] : object) {
        double number = 0;
        if (key == name && value.get_double().get(number) == simdjson::SUCCESS) {
          return number;
        }
        open.push_back(value);
      }
    } else if (simdjson::dom::array array; at.get(array) == simdjson::SUCCESS) {
      std::ranges::copy(array, std::back_inserter(open));
    }
  }
  return std::nullopt;
}

Result<LmcacheReading> read_status(element document) {
  const std::optional<double> ratio = find_number(document, "memory_usage_ratio");
  if (!ratio) {
    return unusable("no number \"memory_usage_ratio\" in the answer");
  }
  bool healthy = true;
  if (const auto given = document["is_healthy"]; given.error() == simdjson::SUCCESS) {
    if (given.get_bool().get(healthy) != simdjson::SUCCESS) {
      return unusable("\"is_healthy\" is not a boolean");
    }
  }
  return checked(*ratio, healthy);
}

Result<LmcacheReading> read_gauge(std::string_view text) {
  std::optional<double> fullest;
  cluster::ExpositionReader reader{text};
  while (const auto sample = reader.next()) {
    if (sample->name == "lmcache_mp_l1_usage_ratio") {
      if (!checked(sample->value, true)) {
        return checked(sample->value, true);
      }
      fullest = std::max(fullest.value_or(0.0), sample->value);
    }
  }
  if (!fullest) {
    return unusable("no gauge lmcache_mp_l1_usage_ratio in the answer");
  }
  return checked(*fullest, true);
}

}  // namespace

Result<LmcacheReading> read_lmcache_answer(config::LmcacheFormat format, std::string_view body) {
  if (format == config::LmcacheFormat::kPrometheus) {
    return read_gauge(body);
  }
  simdjson::dom::parser parser;
  const simdjson::padded_string padded{body};
  element document;
  if (parser.allocate(std::max(body.size(), std::size_t{1}), kMostDepth) != simdjson::SUCCESS ||
      parser.parse(padded).get(document) != simdjson::SUCCESS || !document.is_object()) {
    return unusable("the answer is not a JSON object");
  }
  return format == config::LmcacheFormat::kJson ? read_simple(document) : read_status(document);
}

}  // namespace rolter::feeds
