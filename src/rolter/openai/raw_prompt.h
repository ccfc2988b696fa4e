#pragma once

#include <cstdint>
#include <vector>

#include "rolter/openai/canonical.h"
#include "rolter/openai/json_document.h"
#include "rolter/openai/prompt_text.h"

namespace rolter::openai {

/// Turns prompts that no chat template touches into prompt text: a string as it is, token ids as
/// four bytes each, any object (a document of rerank, say) in canonical form; the members of a list
/// one after another, kept apart.
class RawPrompt {
 public:
  /// `ids` receives the first list of token ids.
  RawPrompt(const JsonDocument& document, Canonical& canonical, PromptText& text,
            std::vector<std::uint32_t>& ids)
      : document_(document), canonical_(canonical), text_(text), ids_(ids) {}

  void add(JsonDocument::Token value);

  /// Whether the prompt begins with token ids.
  [[nodiscard]] bool begins_with_ids() const { return begins_with_ids_; }

 private:
  void begin_item();
  void add_ids(JsonDocument::Token array);

  const JsonDocument& document_;
  Canonical& canonical_;
  PromptText& text_;
  std::vector<std::uint32_t>& ids_;
  bool any_ = false;
  bool begins_with_ids_ = false;
};

}  // namespace rolter::openai
