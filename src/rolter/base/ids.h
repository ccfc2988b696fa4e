#pragma once

#include <cstdint>

namespace rolter {

/// A replica's place in the indexes: dense, stable for as long as the provider stays configured
/// (reloads included), reused only after the indexes have forgotten it. Identity is the provider's
/// name and address, never the address alone: a dead pod's port may belong to another one now.
enum class ReplicaSlot : std::uint32_t {};

[[nodiscard]] constexpr std::uint32_t to_index(ReplicaSlot slot) {
  return static_cast<std::uint32_t>(slot);
}

/// A token of the engine's vocabulary.
using TokenId = std::uint32_t;

}  // namespace rolter
