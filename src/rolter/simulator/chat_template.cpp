#include "rolter/simulator/chat_template.h"

#include "rolter/simulator/tokenizer.h"

namespace rolter::simulator {
namespace {

void open_turn(std::string_view role, std::vector<TokenId>& out) {
  out.push_back(kTurnStart);
  tokenize(role, out);
  tokenize("\n", out);
}

void append_turn(std::string_view role, std::string_view text, std::vector<TokenId>& out) {
  open_turn(role, out);
  tokenize(text, out);
  out.push_back(kTurnEnd);
  tokenize("\n", out);
}

}  // namespace

std::vector<TokenId> render_chat(const std::vector<Turn>& turns, std::string_view tools,
                                 GenerationPrompt prompt) {
  std::vector<TokenId> tokens;
  if (!tools.empty()) {
    append_turn("tools", tools, tokens);
  }
  for (const Turn& turn : turns) {
    append_turn(turn.role, turn.text, tokens);
  }
  if (prompt == GenerationPrompt::kYes) {
    open_turn("assistant", tokens);
  }
  return tokens;
}

}  // namespace rolter::simulator
