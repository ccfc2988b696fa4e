#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "rolter/base/error.h"
#include "rolter/kvcache/kv_event.h"

namespace rolter::kvcache {

struct KvEventFields;

/// What a batch was, beside the events it delivered.
struct BatchSummary {
  double timestamp = 0.0;  // the engine's wall clock when it published, unix seconds
  std::optional<std::uint32_t> rank = std::nullopt;  // data-parallel rank; absent before vLLM 0.10
  std::uint32_t delivered = 0;                       // events given to the sink
  std::uint32_t unknown = 0;                         // events with a tag we do not know, skipped
  std::uint32_t cleared = 0;                         // AllBlocksCleared among the delivered
  std::uint32_t malformed = 0;                       // events whose own fields are wrong, skipped
};

/// Reads the MessagePack payload of an event batch: vLLM 0.9 and later, SGLang, TensorRT-LLM, and
/// whatever they add later. Events are positional arrays or maps, decided per event; missing fields
/// take their defaults, unknown ones are skipped, a wrong event costs only itself.
///
/// Not thread-safe: it keeps scratch memory, so that a warm decoder does not allocate.
class KvEventDecoder {
 public:
  /// Delivers the events in order; removals that follow each other come as one. A payload that is
  /// not one well-formed batch is an error and delivers nothing.
  Result<BatchSummary> decode(Payload payload, KvEventSink& sink);

 private:
  void deliver(const char** at, BatchSummary& summary, KvEventSink& sink);
  bool deliver_stored(const KvEventFields& fields, KvEventSink& sink);
  bool take_removed(const KvEventFields& fields, KvEventSink& sink);
  void flush_removed(KvEventSink& sink);
  bool read_hashes(const char* value);
  bool read_tokens(const char* value);
  void read_extras(const KvEventFields& fields, ExtraDigest adapter, bool is_root);

  std::vector<EngineHash> hashes_;
  std::vector<TokenId> tokens_;
  std::vector<ExtraDigest> extras_;
  std::vector<EngineHash> removed_;  // a run of removals, not delivered yet
  EventScope removed_scope_;
};

}  // namespace rolter::kvcache
