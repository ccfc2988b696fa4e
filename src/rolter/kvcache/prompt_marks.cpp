#include "rolter/kvcache/prompt_marks.h"

#include <algorithm>
#include <array>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace rolter::kvcache {
namespace {

std::size_t chunk_length(std::string_view text) {
  const std::string_view window = text.substr(0, kMarkBytes);
  bool any = false;
  for (const char byte : window) {  // one vector operation or two
    any |= opens_turn(byte);
  }
  return any ? static_cast<std::size_t>(std::ranges::find_if(window, opens_turn) - window.begin())
             : window.size();
}

PromptMark following(PromptMark mark, std::string_view piece) {
  return {.digest = XXH3_64bits_withSeed(piece.data(), piece.size(), mark.digest),
          .offset = mark.offset + static_cast<std::uint32_t>(piece.size())};
}

}  // namespace

std::uint64_t marks_seed(std::uint64_t root, std::string_view model, std::uint32_t block_size) {
  const std::array<std::uint64_t, 2> parts{root, block_size};
  return XXH3_64bits_withSeed(model.data(), model.size(), XXH3_64bits(parts.data(), sizeof(parts)));
}

void mark_more(PromptMark last, std::string_view text, std::vector<PromptMark>& marks) {
  while (!text.empty() && marks.size() < kMostMarks) {
    const std::size_t length = opens_turn(text.front()) ? 1 : chunk_length(text);
    last = following(last, text.substr(0, length));
    marks.push_back(last);
    text.remove_prefix(length);
  }
}

void mark_prompt(std::uint64_t seed, std::string_view text, PromptKind kind,
                 std::vector<PromptMark>& marks) {
  marks.clear();
  mark_more({.digest = seed, .offset = 0}, text, marks);
  if (kind == PromptKind::kChat && !marks.empty() && marks.size() < kMostMarks) {
    marks.push_back(following(marks.back(), {&kOpensReply, 1}));
  }
}

}  // namespace rolter::kvcache
