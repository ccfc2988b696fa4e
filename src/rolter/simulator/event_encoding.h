#pragma once

#include <cstdint>
#include <string>

#include "rolter/simulator/kv_event.h"

namespace rolter::simulator {

enum class EventEncoding : std::uint8_t {
  kMap,    // {"type": "BlockStored", ...}: vLLM >= 0.24, written as 0.32 does
  kArray,  // ["BlockStored", ...]: before, written as 0.20 does (10 items, no session_id)
};

enum class HashEncoding : std::uint8_t {
  kInteger,  // u64, the default
  kBytes,    // 32-byte bin (VLLM_KV_EVENTS_USE_INT_BLOCK_HASHES=0); the last 8 are the u64
};

/// The MessagePack payload of a batch: [ts, [events], dp_rank].
[[nodiscard]] std::string encode(const EventBatch& batch, EventEncoding encoding,
                                 HashEncoding hashes);

}  // namespace rolter::simulator
