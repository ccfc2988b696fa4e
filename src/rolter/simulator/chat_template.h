#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rolter/base/ids.h"

namespace rolter::simulator {

/// One message of a conversation, reduced to the text that reaches the model.
struct Turn {
  std::string role;
  std::string text;
};

enum class GenerationPrompt : std::uint8_t { kNo, kYes };

/// The tokens of a conversation in ChatML: a turn is <|im_start|>role\ntext<|im_end|>\n. Tools, as
/// they stand in the request (JSON, "" = none), come first as a turn of their own; the generation
/// prompt opens the reply.
[[nodiscard]] std::vector<TokenId> render_chat(const std::vector<Turn>& turns,
                                               std::string_view tools, GenerationPrompt prompt);

}  // namespace rolter::simulator
