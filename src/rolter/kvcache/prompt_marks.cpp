#include "rolter/kvcache/prompt_marks.h"

#include <algorithm>
#include <array>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace rolter::kvcache {
namespace {

using Bytes16 [[gnu::vector_size(16)]] = char;

/// Whether a turn opens among the first kMarkBytes of `text`, which has as many.
bool opens_turn_soon(std::string_view text) {
  constexpr char kOpening = static_cast<char>(0xF8);
  Bytes16 found{};
  for (std::size_t at = 0; at < kMarkBytes; at += sizeof(Bytes16)) {
    Bytes16 bytes;
    std::memcpy(&bytes, text.data() + at, sizeof bytes);
    found |= static_cast<Bytes16>((bytes & kOpening) == kOpening);
  }
  return __builtin_reduce_or(found) != 0;
}

std::size_t chunk_length(std::string_view text) {
  if (text.size() >= kMarkBytes && !opens_turn_soon(text)) {
    return kMarkBytes;
  }
  const std::string_view window = text.substr(0, kMarkBytes);
  return static_cast<std::size_t>(std::ranges::find_if(window, opens_turn) - window.begin());
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
  marks.reserve(std::min(text.size() / kMarkBytes + 16, kMostMarks));
  mark_more({.digest = seed, .offset = 0}, text, marks);
  if (kind == PromptKind::kChat && !marks.empty() && marks.size() < kMostMarks) {
    marks.push_back(following(marks.back(), {&kOpensReply, 1}));
  }
}

}  // namespace rolter::kvcache
