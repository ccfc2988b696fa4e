// [[providers]] with [providers.kv_events] and [providers.lmcache]: the replicas.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "rolter/base/ascii.h"
#include "rolter/config/environment.h"
#include "rolter/config/ip_address.h"
#include "rolter/config/readers.h"
#include "rolter/config/url.h"

namespace rolter::config {
namespace {

constexpr auto kKinds = std::to_array<Named<std::string_view>>(
    {{"openai_compatible", "openai_compatible"}, {"vllm", "vllm"}, {"sglang", "sglang"}});

constexpr auto kLmcacheFormats =
    std::to_array<Named<LmcacheFormat>>({{"json", LmcacheFormat::kJson},
                                         {"prometheus", LmcacheFormat::kPrometheus},
                                         {"lmcache_status", LmcacheFormat::kLmcacheStatus}});

// vLLM's greatest block is 256 tokens and hybrid models reach some thousands.
constexpr std::uint64_t kMaxBlockSize = 65'536;
constexpr std::uint64_t kMaxRanks = 1024;

/// `"..." is no usable ...: why`. A URL that may hold a password is not repeated, nor a query, in
/// which a key may stand.
std::string refusal(const Text& text, std::string_view what, std::string_view why) {
  if (text.shown.find('@') != std::string::npos) {
    return fmt::format("no usable {}: {}", what, why);
  }
  const std::size_t query = text.shown.find('?');
  return fmt::format("\"{}{}\" is no usable {}: {}", text.shown.substr(0, query),
                     query == std::string::npos ? "" : "?...", what, why);
}

/// Whether the policy lets us connect to `host`; the refusal is reported under `key`.
bool passes(TableReader& table, std::string_view key, const EgressPolicy& egress,
            const std::string& host) {
  const Verdict verdict = egress.check_host(host);
  if (verdict == Verdict::kAllowed) {
    return true;
  }
  const auto address = parse_ip_literal(host);
  const bool other_form = address && to_string(*address) != host;
  table.error(key, fmt::format("{}{} is denied: {}", host,
                               other_form ? fmt::format(" ({})", to_string(*address)) : "",
                               explain(verdict)));
  return false;
}

void read_url(TableReader& table, std::string_view key, const EgressPolicy& egress,
              Parsed<Url> (*parse)(std::string_view), Url& out) {
  const auto text = table.parsed_text(key, "URL", Presence::kRequired);
  if (!text) {
    return;
  }
  auto url = parse(text->value);
  if (!url) {
    table.error(key, refusal(*text, "URL", url.error()));
  } else if (passes(table, key, egress, url->host)) {
    out = *std::move(url);
  }
}

/// Every rank's port must exist: they are consecutive from the given one.
void read_endpoint(TableReader& table, std::string_view key, const EgressPolicy& egress,
                   std::string& out) {
  const auto text = table.parsed_text(key, "tcp URL", Presence::kOptional);
  if (!text || text->value.empty()) {
    return;
  }
  const auto endpoint = parse_tcp_endpoint(text->value);
  if (!endpoint) {
    table.error(key, refusal(*text, "endpoint (tcp://host:port)", endpoint.error()));
  } else if (passes(table, key, egress, endpoint->host)) {
    out = to_string(*endpoint);
  }
}

void check_rank_ports(TableReader& table, std::string_view key, const std::string& endpoint,
                      std::uint32_t dp_size) {
  const auto parsed = parse_tcp_endpoint(endpoint);
  if (parsed && parsed->port + std::uint64_t{dp_size} - 1 > 65'535) {
    table.error(key, fmt::format("dp_size {} needs ports {} to {}, past 65535", dp_size,
                                 parsed->port, parsed->port + std::uint64_t{dp_size} - 1));
  }
}

void read_kv_events(TableReader& table, const EgressPolicy& egress, KvEvents& events) {
  read_endpoint(table, "endpoint", egress, events.endpoint);
  read_endpoint(table, "replay_endpoint", egress, events.replay_endpoint);
  table.text("topic", events.topic);
  table.flag("discover", events.discover);
  table.integer("max_blocks", events.max_blocks, {.min = 1});
  table.secs("stale_secs", events.stale);
  std::optional<std::uint32_t> block_size;
  table.integer("block_size", block_size, {.min = 1, .max = kMaxBlockSize});
  events.block_size = block_size.value_or(0);
  table.integer("dp_size", events.dp_size, {.min = 1, .max = kMaxRanks});
  if (!events.discover && !table.has("endpoint")) {
    table.error("", "\"endpoint\" is missing; give it, or set discover = true");
  }
  check_rank_ports(table, "endpoint", events.endpoint, events.dp_size);
  check_rank_ports(table, "replay_endpoint", events.replay_endpoint, events.dp_size);
}

void read_lmcache(TableReader& table, const EgressPolicy& egress, Lmcache& lmcache) {
  read_url(table, "endpoint", egress, parse_http_url, lmcache.endpoint);
  table.secs("refresh_secs", lmcache.refresh, Zero::kRefused);
  table.secs("stale_secs", lmcache.stale);
  table.choice("format", lmcache.format, kLmcacheFormats, "format");
  if (lmcache.stale.count() > 0 && lmcache.stale < lmcache.refresh) {
    table.error("stale_secs", "must not be shorter than refresh_secs");
  }
}

std::string lower_case(std::string text) {
  std::ranges::transform(text, text.begin(), to_lower);
  return text;
}

/// RFC 9110 token.
bool is_header_name(std::string_view name) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !name.empty() && std::ranges::all_of(name, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kMarks.find(c) != std::string_view::npos;
  });
}

/// Fields that frame the message or belong to the connection: the gateway sets them.
bool is_ours(std::string_view lower_name) {
  constexpr auto kOurs = std::to_array<std::string_view>(
      {"connection", "content-length", "expect", "host", "keep-alive", "proxy-connection", "te",
       "trailer", "transfer-encoding", "upgrade"});
  return std::ranges::find(kOurs, lower_name) != kOurs.end();
}

bool carries_secret(std::string_view lower_name) {
  constexpr auto kWords =
      std::to_array<std::string_view>({"authorization", "cookie", "key", "secret", "token"});
  return std::ranges::any_of(kWords, [&](std::string_view word) {
    return lower_name.find(word) != std::string_view::npos;
  });
}

void read_headers(TableReader& table, Provider& provider) {
  Findings& findings = table.context().findings;
  std::vector<std::string> seen;
  for (auto& [name, text] : table.pairs("headers")) {
    const std::string path = table.path_of(fmt::format("headers.{}", name));
    const std::string lower = lower_case(name);
    if (!is_header_name(name)) {
      findings.error(text.at, path, "not a header name");
    } else if (is_ours(lower)) {
      findings.error(text.at, path, "this header is set by the gateway; remove it");
    } else if (std::ranges::find(seen, lower) != seen.end()) {
      findings.error(text.at, path, "this header is given twice; case does not matter");
    } else if (lower == "authorization" && !provider.api_key.empty()) {
      findings.error(text.at, path, "api_key sets this header already; give one of the two");
    } else {
      if (carries_secret(lower) && !has_reference(text.shown)) {
        findings.warning(text.at, path, "a literal secret; ${VARIABLE} keeps it out of the file");
      }
      provider.headers.emplace_back(name, Secret(std::move(text.value)));
    }
    seen.push_back(lower);
  }
}

void read_provider_name(TableReader& table, std::string& name) {
  table.text("name", name, Presence::kRequired);
  const auto is_visible = [](unsigned char c) { return c > 0x20 && c < 0x7f; };
  if (!std::ranges::all_of(name, is_visible)) {
    table.error("name",
                "must hold visible ASCII characters only, since x-rolter-provider carries it");
  }
}

}  // namespace

void read_provider(TableReader& table, const EgressPolicy& egress, Provider& provider) {
  read_provider_name(table, provider.name);
  std::string_view kind = provider.kind;
  table.choice("kind", kind, kKinds, "kind");
  provider.kind = kind;
  read_url(table, "api_base", egress, parse_api_base, provider.api_base);
  table.secret("api_key", "api_key_env", provider.api_key);
  table.texts("ca_bundles", provider.ca_bundles);
  read_headers(table, provider);
  table.secs("resolve_secs", provider.resolve);
  table.table("kv_events", [&](TableReader& events) {
    read_kv_events(events, egress, provider.kv_events.emplace());
  });
  table.table("lmcache", [&](TableReader& lmcache) {
    read_lmcache(lmcache, egress, provider.lmcache.emplace());
  });
}

}  // namespace rolter::config
