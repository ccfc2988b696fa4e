#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rolter/openai/canonical.h"
#include "rolter/openai/json_document.h"
#include "rolter/openai/prompt.h"
#include "rolter/openai/prompt_text.h"
#include "rolter/openai/request_fields.h"
#include "rolter/openai/request_view.h"

namespace rolter::openai {

/// Builds the Prompt of a request that is JSON. Keeps its memory for the next one; not thread-safe.
class PromptBuilder {
 public:
  /// Forgets the last prompt and gives back memory beyond `kept_bytes` per buffer.
  void clear(std::size_t kept_bytes);

  /// Call once after clear(). The model's share of the root is not in it yet.
  [[nodiscard]] Prompt build(Endpoint endpoint, const JsonDocument& document,
                             const RequestFields& fields);

  /// False when a string of the prompt held an escape that is not JSON.
  [[nodiscard]] bool good() const { return text_.good(); }

  /// The first list of token ids of a prompt that has one.
  [[nodiscard]] std::span<const std::uint32_t> token_ids() const { return ids_; }

 private:
  /// Equal text of different kinds shares no blocks.
  enum class Kind : std::uint8_t { kChat, kText, kTokenIds };

  Kind write_text(Endpoint endpoint, const JsonDocument& document, const RequestFields& fields);
  std::uint64_t hash_root(Kind kind, const JsonDocument& document, const RequestFields& fields);

  Canonical canonical_;
  PromptText text_;
  std::vector<std::uint32_t> ids_;
};

}  // namespace rolter::openai
