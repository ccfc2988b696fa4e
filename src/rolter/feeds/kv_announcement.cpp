#include "rolter/feeds/kv_announcement.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string>
#include <utility>

namespace rolter::feeds {
namespace {

using simdjson::dom::element;

constexpr std::size_t kMostDepth = 64;
/// As dp_size has it.
constexpr std::uint64_t kMostRanks = 1024;

std::unexpected<Error> unusable(std::string message) {
  return fail(ErrorKind::kInvalidInput, std::move(message), ErrorSource::kUpstream);
}

/// Absent and null are the same: "".
std::string_view text_of(const element& object, std::string_view key) {
  std::string_view text;
  return object[key].get(text) == simdjson::SUCCESS ? text : std::string_view{};
}

std::optional<std::uint64_t> number_of(const element& object, std::string_view key) {
  std::uint64_t number = 0;
  return object[key].get(number) == simdjson::SUCCESS ? std::optional(number) : std::nullopt;
}

bool is_any_interface(std::string_view host) {
  return host == "*" || host == "0.0.0.0" || host == "::" || host == "[::]";
}

/// What an engine binds is not what can be dialled: "*" names no host, and port 0 no port.
Result<config::TcpEndpoint> read_endpoint(std::string_view text) {
  std::string bound(text);
  if (constexpr std::string_view kAny = "tcp://*:"; text.starts_with(kAny)) {
    bound.replace(0, kAny.size(), "tcp://0.0.0.0:");
  }
  auto endpoint = config::parse_tcp_endpoint(bound);
  if (!endpoint || endpoint->port == 0) {
    return unusable(fmt::format("its endpoint \"{}\" cannot be connected to", text.substr(0, 200)));
  }
  if (is_any_interface(endpoint->host)) {
    endpoint->host.clear();
  }
  return *std::move(endpoint);
}

Result<AnnouncedStream> read_source(const element& source, std::uint64_t rank) {
  if (rank >= kMostRanks) {
    return unusable(fmt::format("data-parallel rank {} is past {}", rank, kMostRanks - 1));
  }
  if (bool on = true; source["enable_kv_cache_events"].get(on) == simdjson::SUCCESS && !on) {
    return unusable("its KV events are switched off (enable_kv_cache_events)");
  }
  if (const auto publisher = text_of(source, "publisher"); publisher == "null") {
    return unusable("it publishes no KV events (publisher \"null\")");
  }
  auto events = read_endpoint(text_of(source, "endpoint"));
  if (!events) {
    return std::unexpected(std::move(events.error()));
  }
  AnnouncedStream stream{.rank = static_cast<std::uint32_t>(rank), .events = *std::move(events)};
  if (const auto text = text_of(source, "replay_endpoint"); !text.empty()) {
    auto replay = read_endpoint(text);
    if (!replay) {
      return std::unexpected(std::move(replay.error()));
    }
    stream.replay = *std::move(replay);
  }
  return stream;
}

/// The sources with their ranks, whatever form the answer has.
std::vector<std::pair<std::uint64_t, element>> sources_of(element document) {
  if (element inner; document["sources"].get(inner) == simdjson::SUCCESS) {
    document = inner;
  }
  std::vector<std::pair<std::uint64_t, element>> sources;
  if (simdjson::dom::array list; document.get(list) == simdjson::SUCCESS) {
    for (const element source : list) {
      sources.emplace_back(number_of(source, "data_parallel_rank").value_or(sources.size()),
                           source);
    }
  } else if (simdjson::dom::object object; document.get(object) == simdjson::SUCCESS) {
    for (const auto& [key, source] : object) {
      std::uint64_t rank = 0;
      const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), rank);
      if (error == std::errc{} && end == key.data() + key.size()) {
        sources.emplace_back(rank, source);
      }
    }
  }
  return sources;
}

Announcement checked(std::vector<AnnouncedStream> streams) {
  if (streams.empty()) {
    return unusable("it names no stream of KV events");
  }
  std::ranges::sort(streams, {}, &AnnouncedStream::rank);
  if (std::ranges::adjacent_find(streams, {}, &AnnouncedStream::rank) != streams.end()) {
    return unusable("it names a data-parallel rank twice");
  }
  return streams;
}

Announcement read_ranks(const element& document) {
  std::vector<AnnouncedStream> streams;
  for (const auto& [rank, source] : sources_of(document)) {
    auto stream = read_source(source, rank);
    if (!stream) {
      return std::unexpected(std::move(stream.error()));
    }
    streams.push_back(*std::move(stream));
  }
  return checked(std::move(streams));
}

Announcement read_port_range(const element& document) {
  element events;
  if (document["kv_events"].get(events) != simdjson::SUCCESS || !events.is_object()) {
    return unusable(
        "it publishes no KV events (no \"kv_events\"); start it with "
        "--kv-events-config");
  }
  const std::uint64_t base = number_of(events, "endpoint_port_base").value_or(0);
  const std::uint64_t ranks = number_of(events, "dp_size").value_or(1);
  const std::uint64_t block_size = number_of(events, "block_size").value_or(0);
  if (base == 0 || ranks == 0 || ranks > kMostRanks || base + ranks - 1 > 65'535 ||
      block_size > 65'536) {
    return unusable("endpoint_port_base, dp_size or block_size of its \"kv_events\" cannot be");
  }
  std::string host(text_of(events, "endpoint_host"));
  if (is_any_interface(host)) {
    host.clear();
  } else if (!config::is_host(host)) {
    return unusable("endpoint_host of its \"kv_events\" is no host");
  }
  std::vector<AnnouncedStream> streams;
  for (std::uint64_t rank = 0; rank < ranks; ++rank) {
    streams.push_back({.rank = static_cast<std::uint32_t>(rank),
                       .events = {.host = host, .port = static_cast<std::uint16_t>(base + rank)},
                       .block_size = static_cast<std::uint32_t>(block_size)});
  }
  return checked(std::move(streams));
}

Announcement read(std::string_view body, Announcement (*read_document)(const element&)) {
  simdjson::dom::parser parser;
  if (parser.allocate(std::max(body.size(), std::size_t{1}), kMostDepth) != simdjson::SUCCESS) {
    return unusable("the answer is too large");
  }
  element document;
  const simdjson::padded_string padded(body);
  if (parser.parse(padded).get(document) != simdjson::SUCCESS) {
    return unusable("the answer is no JSON");
  }
  return read_document(document);
}

}  // namespace

Announcement read_kv_event_sources(std::string_view body) {
  return read(body, read_ranks);
}

Announcement read_server_info(std::string_view body) {
  return read(body, read_port_range);
}

}  // namespace rolter::feeds
