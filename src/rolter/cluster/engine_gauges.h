#pragma once

#include <optional>
#include <string_view>

namespace rolter::cluster {

/// What an engine says of its own load. Absent = it does not say, which is unknown and not zero.
struct EngineGauges {
  std::optional<double> running;   // requests being computed, all ranks together
  std::optional<double> waiting;   // requests in its queue, all ranks together
  std::optional<double> kv_usage;  // 0..1, of the fullest rank; blocks in use, not blocks cached
  std::optional<double> started_at = {};  // of the process, unix seconds

  /// Running and waiting; nullopt unless both are known.
  [[nodiscard]] std::optional<double> depth() const;
};

/// Reads an engine's /metrics. Knows the names of vLLM (old and new, and with the colon rewritten
/// as exporters do), SGLang, TGI, llama.cpp and TensorRT-LLM. Data-parallel ranks are added up; of
/// tensor- and pipeline-parallel ranks, which all tell the same, the first counts.
[[nodiscard]] EngineGauges parse_engine_gauges(std::string_view text);

}  // namespace rolter::cluster
