// [server], [log], [admin], [egress], [index]: the gateway itself.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "rolter/config/ip_address.h"
#include "rolter/config/readers.h"
#include "rolter/config/url.h"

namespace rolter::config {
namespace {

constexpr auto kLevels = std::to_array<Named<std::string_view>>(
    {{"debug", "debug"}, {"info", "info"}, {"warn", "warn"}, {"error", "error"}});
constexpr auto kFormats =
    std::to_array<Named<std::string_view>>({{"json", "json"}, {"text", "text"}});

void read_listener(TableReader& table, std::string& host, std::uint16_t& port) {
  const auto text =
      table.parsed_text("host", "host", Presence::kOptional, fmt::format("\"{}\"", host));
  if (text && !is_host(text->value)) {
    table.error("host", fmt::format("\"{}\" is neither an address nor a host name", text->shown));
  } else if (text) {
    host = text->value;
  }
  table.integer("port", port);
}

bool is_api_path(std::string_view path) {
  constexpr auto kTaken =
      std::to_array<std::string_view>({"/health", "/ready", "/tokenize", "/detokenize"});
  return path.starts_with("/v1/") || std::ranges::find(kTaken, path) != kTaken.end();
}

}  // namespace

void read_server(TableReader& table, Server& server) {
  read_listener(table, server.host, server.port);
  table.http_path("metrics_path", server.metrics_path);
  if (is_api_path(server.metrics_path)) {
    table.error("metrics_path",
                fmt::format("\"{}\" belongs to the API; choose another path", server.metrics_path));
  }
  table.integer("max_body_bytes", server.max_body_bytes);
  table.integer("max_head_bytes", server.max_head_bytes);
  table.integer("max_head_fields", server.max_head_fields, {.min = 1});
  table.integer("max_token_ids_bytes", server.max_token_ids_bytes);
  std::optional<std::size_t> loops;
  table.integer("loops", loops, {.min = 1, .max = 1024});
  server.loops = loops.value_or(0);
  table.secs("drain_settle_secs", server.drain_settle);
  table.secs("drain_secs", server.drain);
  table.integer("max_connections", server.max_connections, {.min = 1});
  table.integer("max_buffered_bytes", server.max_buffered_bytes, {.min = 1});
  table.table("tls", [&server](TableReader& tls) {
    server.tls.emplace();
    tls.text("cert", server.tls->cert, Presence::kRequired);
    tls.text("key", server.tls->key, Presence::kRequired);
  });
}

void read_log(TableReader& table, Log& log) {
  std::string_view level = log.level;
  std::string_view format = log.format;
  table.choice("level", level, kLevels, "level");
  table.choice("format", format, kFormats, "format");
  log.level = level;
  log.format = format;
  table.flag("access", log.access);
  table.flag("prompts", log.prompts);
  table.flag("blocks", log.blocks);
}

void read_admin(TableReader& table, Admin& admin) {
  read_listener(table, admin.host, admin.port);
  table.secret("token", "token_env", admin.token);
}

void read_egress(TableReader& table, Egress& egress) {
  table.flag("block_link_local", egress.block_link_local);
  table.flag("block_loopback", egress.block_loopback);
  table.flag("block_private", egress.block_private);
  for (const Text& host : table.parsed_texts("allow_hosts", "list of strings")) {
    const std::string normalized = normalize_host(host.value);
    if (is_host(normalized)) {
      egress.allow_hosts.push_back(normalized);
    } else {
      table.context().findings.error(
          host.at, table.path_of("allow_hosts"),
          fmt::format("\"{}\" is neither a host name nor an address; write it without scheme, "
                      "port or wildcard",
                      host.shown));
    }
  }
}

void read_index(TableReader& table, Index& index) {
  table.text("save_path", index.save_path);
  table.integer("tokenize_per_sec", index.tokenize_per_second, {.min = 1, .max = 10'000});
}

}  // namespace rolter::config
