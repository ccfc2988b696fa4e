#pragma once

#include <string>
#include <vector>

#include "rolter/cli/http_tool.h"
#include "rolter/config/config.h"

namespace rolter::cli {

/// What a replica turned out to be. "-": it does not say, or could not be asked.
struct ReplicaReport {
  std::string provider;
  std::string state = "-";            // "up", or what is wrong
  std::string engine = "-";           // "vllm 0.32.0"
  std::string prefix_caching = "-";   // "on", "off"
  std::string block_size = "-";       // tokens
  std::string cached_tokens = "-";    // whether usage tells them: "told", "not told"
  std::string kv_events = "-";        // "topic \"\", replay", "off"
  std::string lmcache = "-";          // "42 % full", or what is wrong
  std::vector<std::string> findings;  // each with the mend
};

/// Asks every replica of the configuration what it is, and compares. Sends each replica two
/// requests for one token under each model that a route expects of it: only a usage shows whether
/// cached tokens are told.
[[nodiscard]] std::vector<ReplicaReport> check_replicas(const config::Config& config,
                                                        HttpTool& http);

[[nodiscard]] std::string live_text(const std::vector<ReplicaReport>& reports);
[[nodiscard]] std::string live_json(const std::vector<ReplicaReport>& reports);

}  // namespace rolter::cli
