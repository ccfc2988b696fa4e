#include "rolter/admin/residency_view.h"

#include <vector>

#include "rolter/openai/json_writer.h"

namespace rolter::admin {
namespace {

using kvcache::BlockIndex;
using openai::JsonWriter;

void write_target(JsonWriter& json, const cluster::Replica& replica, const BlockIndex& index) {
  const std::vector<BlockIndex::ReplicaQuery> query{{.replica = replica.slot(), .model = {}}};
  std::vector<BlockIndex::StreamView> ranks;
  index.streams_of(query, ranks);
  json.object().text("target", replica.name()).array("ranks");
  for (const BlockIndex::StreamView& rank : ranks) {
    const BlockIndex::StreamStats stats = index.stats(rank.stream);
    json.object()
        .number("rank", rank.rank)
        .flag("usable", rank.usable)
        .flag("hybrid", rank.hybrid)
        .number("block_size", rank.block_size)
        .number("blocks", stats.blocks)
        .number("parked_blocks", stats.parked)
        .number("stored", stats.counters.stored)
        .number("removed", stats.counters.removed)
        .number("cleared", stats.counters.cleared)
        .end();
  }
  json.end().end();
}

}  // namespace

std::string residency_json(const proxy::GatewayState& state, const kvcache::Residency& residency,
                           std::string_view target) {
  JsonWriter json;
  json.object().array("targets");
  for (const auto& replica : state.cluster->replicas) {
    if (target.empty() || replica->name() == target) {
      write_target(json, *replica, residency.index);
    }
  }
  const kvcache::LearnedChains::Stats learned = residency.learned.stats();
  json.end()
      .object("learned")
      .number("prompts", learned.tree.prompts)
      .number("blocks", learned.tree.blocks)
      .number("bytes", learned.tree.bytes)
      .number("distrusted_routes", learned.distrusted)
      .end()
      .end();
  return json.take();
}

}  // namespace rolter::admin
