#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rolter::simulator {

/// A ZMQ message in frames.
using Frames = std::vector<std::string>;

/// Frames of a replay answer behind the peer's identity.
enum class ReplayFrames : std::uint8_t {
  kWithTopic,     // "", topic, seq, payload: vLLM >= 0.26
  kWithoutTopic,  // "", seq, payload: before
};

/// The last batches a publisher has sent, for subscribers that missed them. Pure.
class ReplayBuffer {
 public:
  /// vLLM's buffer_steps is 10,000.
  ReplayBuffer(std::string topic, ReplayFrames shape, std::size_t batches);

  /// Keeps a payload and gives the message to publish: [topic, seq u64 big-endian, payload]. The
  /// first one is 0.
  [[nodiscard]] Frames add(std::string payload);

  /// What the server answers to [identity, "", seq]: every batch it still has from seq on, oldest
  /// first, then the end marker (seq -1, no topic). Batches that have left the buffer are passed
  /// over silently. A seq of any length counts, as a big-endian number. Any other number of frames
  /// has no answer at all. Answers begin with the identity.
  [[nodiscard]] std::vector<Frames> answer(std::span<const std::string> request) const;

 private:
  [[nodiscard]] Frames frame(std::string_view identity, std::string_view topic, std::string seq,
                             std::string payload) const;

  std::string topic_;
  ReplayFrames shape_;
  std::size_t limit_;
  std::uint64_t next_ = 0;
  std::deque<std::string> payloads_;  // the newest is next_ - 1
};

}  // namespace rolter::simulator
