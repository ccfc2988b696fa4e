#include "rolter/simulator/tokenizer.h"

#include <algorithm>

namespace rolter::simulator {
namespace {

bool is_piece_letter(char c) {
  return c >= 'a' && c <= 'z';
}

TokenId letters_value(std::string_view letters) {
  TokenId value = 0;
  for (const char letter : letters) {
    value = value * 27 + static_cast<TokenId>(letter - 'a' + 1);
  }
  return value;
}

void append_letters(TokenId value, std::string& out) {
  for (const TokenId place : {27U * 27U, 27U, 1U}) {
    if (const TokenId digit = value / place % 27; digit > 0) {
      out.push_back(static_cast<char>('a' + digit - 1));
    }
  }
}

/// Leading lower-case letters of `text`, at most a piece of them.
std::size_t piece_length(std::string_view text) {
  const std::string_view window = text.substr(0, kLettersPerPiece);
  return static_cast<std::size_t>(std::ranges::find_if_not(window, is_piece_letter) -
                                  window.begin());
}

}  // namespace

void tokenize(std::string_view text, std::vector<TokenId>& out) {
  while (!text.empty()) {
    const std::size_t space = text.front() == ' ' ? 1 : 0;
    const std::size_t letters = piece_length(text.substr(space));
    if (letters == 0) {
      out.push_back(kFirstByteToken + static_cast<unsigned char>(text.front()));
      text.remove_prefix(1);
      continue;
    }
    out.push_back((space == 1 ? kFirstSpacedPiece : kFirstPiece) +
                  letters_value(text.substr(space, letters)));
    text.remove_prefix(space + letters);
  }
}

std::vector<TokenId> tokenize(std::string_view text) {
  std::vector<TokenId> tokens;
  tokenize(text, tokens);
  return tokens;
}

void detokenize(TokenId token, std::string& out) {
  if (token == kEndOfText) {
    out += "<|endoftext|>";
  } else if (token == kTurnStart) {
    out += "<|im_start|>";
  } else if (token == kTurnEnd) {
    out += "<|im_end|>";
  } else if (token < kFirstPiece) {
    out.push_back(static_cast<char>(token - kFirstByteToken));
  } else if (token < kFirstSpacedPiece) {
    append_letters(token - kFirstPiece, out);
  } else if (token < kVocabularySize) {
    out.push_back(' ');
    append_letters(token - kFirstSpacedPiece, out);
  }
}

std::string detokenize(std::span<const TokenId> tokens) {
  std::string text;
  for (const TokenId token : tokens) {
    detokenize(token, text);
  }
  return text;
}

}  // namespace rolter::simulator
