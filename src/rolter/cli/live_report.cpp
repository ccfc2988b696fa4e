#include "rolter/admin/text_table.h"
#include "rolter/cli/live_check.h"
#include "rolter/openai/json_writer.h"

namespace rolter::cli {

std::string live_text(const std::vector<ReplicaReport>& reports) {
  admin::TextTable table({"REPLICA", "STATE", "ENGINE", "PREFIX CACHE", "BLOCK", "CACHED TOKENS",
                          "KV EVENTS", "LMCACHE"});
  std::string findings;
  for (const ReplicaReport& report : reports) {
    table.add({report.provider, report.state, report.engine, report.prefix_caching,
               report.block_size, report.cached_tokens, report.kv_events, report.lmcache});
    for (const std::string& finding : report.findings) {
      findings.append(report.provider).append(": ").append(finding).append("\n");
    }
  }
  return table.text() + (findings.empty() ? "\nno findings\n" : "\n" + findings);
}

std::string live_json(const std::vector<ReplicaReport>& reports) {
  openai::JsonWriter json;
  json.array();
  for (const ReplicaReport& report : reports) {
    json.object()
        .text("provider", report.provider)
        .text("state", report.state)
        .text("engine", report.engine)
        .text("prefix_caching", report.prefix_caching)
        .text("block_size", report.block_size)
        .text("cached_tokens", report.cached_tokens)
        .text("kv_events", report.kv_events)
        .text("lmcache", report.lmcache)
        .array("findings");
    for (const std::string& finding : report.findings) {
      json.text({}, finding);
    }
    json.end().end();
  }
  json.end();
  return json.take() + "\n";
}

}  // namespace rolter::cli
