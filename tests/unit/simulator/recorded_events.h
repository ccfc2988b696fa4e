#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rolter/base/ids.h"
#include "rolter/simulator/kv_event.h"

namespace rolter::simulator {

/// One message of a real vLLM 0.32.0, as recorded (tests/data/vllm-0.32/events).
struct RecordedBatch {
  std::string topic;
  std::uint64_t sequence = 0;
  std::string payload;
  EventBatch batch;  // the payload decoded
};

[[nodiscard]] std::vector<RecordedBatch> load_recording(const std::string& name);

/// The deterministic prompt with this label (tests/data/vllm-0.32/prompts.txt).
[[nodiscard]] std::vector<TokenId> recorded_prompt(std::string_view label);

/// What the recorded engine sampled after `prompt`, as far as events tell, in the order in which
/// different continuations appear; one of `count` tokens, filled up with zeros, when nothing is
/// known.
[[nodiscard]] std::vector<std::vector<TokenId>> recorded_replies(
    const std::vector<RecordedBatch>& recording, const std::vector<TokenId>& prompt,
    std::size_t count);

/// Names hashes by the order in which they appear, so that two engines' events compare equal when
/// everything but the hashes' values is equal.
class EventShapes {
 public:
  [[nodiscard]] std::string describe(const EventBatch& batch);

 private:
  [[nodiscard]] std::string name(BlockHash hash);
  [[nodiscard]] std::string describe(const BlockStored& event);

  std::vector<BlockHash> seen_;
};

}  // namespace rolter::simulator
