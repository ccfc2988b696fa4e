#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace rolter::kvcache {

using Frame = std::span<const std::byte>;

/// A batch of events as it comes over ZMQ.
struct EventMessage {
  Frame topic;
  std::uint64_t sequence = 0;
  Frame payload;
};

/// [topic, sequence, payload] from the PUB socket; the sequence's frame may grow beyond its 8 bytes
/// (vLLM PR 57789). nullopt for anything else.
[[nodiscard]] std::optional<EventMessage> parse_live_frames(std::span<const Frame> frames);

/// One answer from the ROUTER socket.
struct ReplayMessage {
  EventMessage message;
  bool is_end = false;  // nothing more will come
};

/// ["", sequence, payload] (vLLM <= 0.25, SGLang) or ["", topic, sequence, payload] (later ones);
/// the end is a sequence of all ones. The leading empty frame may be missing.
[[nodiscard]] std::optional<ReplayMessage> parse_replay_frames(std::span<const Frame> frames);

}  // namespace rolter::kvcache
