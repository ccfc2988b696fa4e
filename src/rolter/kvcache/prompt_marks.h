#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace rolter::kvcache {

/// A place in a prompt's text up to which it can be compared with others: `digest` stands for all
/// of the text before `offset`, and for what keeps prompts of equal text apart.
struct PromptMark {
  std::uint64_t digest = 0;
  std::uint32_t offset = 0;
};

/// Bytes of text between two marks at most: about a block of 16 tokens.
inline constexpr std::size_t kMarkBytes = 64;
/// Of one prompt: of what is longer, only the beginning is compared.
inline constexpr std::size_t kMostMarks = 65'536;

enum class PromptKind : std::uint8_t {
  kText,
  kChat,  // the template opens an assistant's turn at its end
};

/// Opens a turn in a prompt's text, as its writer frames it: no byte of UTF-8 is as large.
[[nodiscard]] constexpr bool opens_turn(char byte) {
  return static_cast<unsigned char>(byte) >= 0xF8;
}
inline constexpr char kOpensReply = static_cast<char>(0xFA);

/// Where marks begin: `root` as Prompt::root has it; the rest decides what blocks a text becomes.
[[nodiscard]] std::uint64_t marks_seed(std::uint64_t root, std::string_view model,
                                       std::uint32_t block_size);

/// Replaces `marks` by those of a prompt: at the end of each turn and after the byte that opens the
/// next one, and every kMarkBytes between. A chat's last mark is the assistant's turn that the
/// template opens: what follows the prompt, whether it is a reply or the same turn in the next
/// prompt, goes on from there. Some 10 ns per mark.
void mark_prompt(std::uint64_t seed, std::string_view text, PromptKind kind,
                 std::vector<PromptMark>& marks);

/// Appends the marks of text that follows `last`, which must be the end of a turn or its opening.
void mark_more(PromptMark last, std::string_view text, std::vector<PromptMark>& marks);

}  // namespace rolter::kvcache
