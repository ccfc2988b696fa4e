#include "rolter/kvcache/event_frames.h"

#include <limits>

namespace rolter::kvcache {
namespace {

constexpr std::size_t kSequenceBytes = 8;
constexpr std::uint64_t kEnd = std::numeric_limits<std::uint64_t>::max();

std::uint64_t read_sequence(Frame frame) {
  std::uint64_t sequence = 0;
  for (const std::byte byte : frame.first(kSequenceBytes)) {
    sequence = (sequence << 8) | std::to_integer<std::uint64_t>(byte);
  }
  return sequence;
}

}  // namespace

std::optional<EventMessage> parse_live_frames(std::span<const Frame> frames) {
  if (frames.size() != 3 || frames[1].size() < kSequenceBytes) {
    return std::nullopt;
  }
  const std::uint64_t sequence = read_sequence(frames[1]);
  if (sequence == kEnd) {
    return std::nullopt;
  }
  return EventMessage{.topic = frames[0], .sequence = sequence, .payload = frames[2]};
}

std::optional<ReplayMessage> parse_replay_frames(std::span<const Frame> frames) {
  if (frames.size() < 2 || frames.size() > 4) {
    return std::nullopt;
  }
  // The sequence is the last but one in every shape.
  const Frame sequence = frames[frames.size() - 2];
  if (sequence.size() < kSequenceBytes) {
    return std::nullopt;
  }
  ReplayMessage replay;
  replay.message.topic = frames.size() == 4 ? frames[1] : Frame{};
  replay.message.sequence = read_sequence(sequence);
  replay.message.payload = frames.back();
  replay.is_end = replay.message.sequence == kEnd;
  return replay;
}

}  // namespace rolter::kvcache
