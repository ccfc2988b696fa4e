#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rolter/base/ids.h"

namespace rolter::simulator {

/// Tokens of the chat template; text never turns into them.
inline constexpr TokenId kEndOfText = 0;
inline constexpr TokenId kTurnStart = 1;  // <|im_start|>
inline constexpr TokenId kTurnEnd = 2;    // <|im_end|>, ends a reply

/// A tokenizer without a vocabulary file: a token is a byte, or one to three lower-case letters
/// with or without one space before them (about 2.9 characters of English; " abc" is one token).
/// Hence ids are stable, any bytes survive the way there and back, and the tokens of a text cut at
/// a token border are the first tokens of the text: a reply that comes back in the next prompt has
/// the ids it was generated with.
inline constexpr std::size_t kLettersPerPiece = 3;
inline constexpr TokenId kFirstByteToken = 3;
inline constexpr TokenId kFirstPiece = kFirstByteToken + 256;
inline constexpr TokenId kPieces = 27 * 27 * 27;  // base 27, digit 0 unused
inline constexpr TokenId kFirstSpacedPiece = kFirstPiece + kPieces;
inline constexpr TokenId kVocabularySize = kFirstSpacedPiece + kPieces;  // 39,625

/// Appends the tokens of `text`.
void tokenize(std::string_view text, std::vector<TokenId>& out);
[[nodiscard]] std::vector<TokenId> tokenize(std::string_view text);

/// Appends the text of one token; ids without a text of their own give "".
void detokenize(TokenId token, std::string& out);
[[nodiscard]] std::string detokenize(std::span<const TokenId> tokens);

}  // namespace rolter::simulator
