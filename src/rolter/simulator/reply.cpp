#include "rolter/simulator/reply.h"

#include <algorithm>
#include <array>

#include "rolter/base/random.h"
#include "rolter/simulator/tokenizer.h"

namespace rolter::simulator {
namespace {

constexpr std::size_t kShortestReply = 16;
constexpr std::size_t kReplySpread = 128;

constexpr std::array<std::string_view, 64> kWords = {
    "the",    "a",     "model", "token", "cache", "prefix", "block",  "of",     "and",   "to",
    "in",     "is",    "that",  "for",   "with",  "as",     "each",   "first",  "then",  "from",
    "it",     "are",   "on",    "by",    "one",   "two",    "when",   "where",  "which", "this",
    "can",    "will",  "time",  "queue", "batch", "turn",   "answer", "text",   "word",  "line",
    "long",   "short", "warm",  "cold",  "same",  "other",  "next",   "last",   "holds", "reads",
    "writes", "sends", "takes", "gives", "keeps", "finds",  "while",  "before", "after", "within",
    "across", "again", "more",  "less"};

/// CRC-32 of every byte value (ISO 3309, reflected polynomial).
constexpr std::array<std::uint32_t, 256> kCrcTable = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? 0xEDB88320U : 0U);
    }
    table[byte] = crc;
  }
  return table;
}();

std::uint32_t crc32(std::string_view text) {
  std::uint32_t crc = 0xFFFFFFFFU;
  for (const char byte : text) {
    crc = (crc >> 8U) ^ kCrcTable[(crc ^ static_cast<unsigned char>(byte)) & 0xFFU];
  }
  return ~crc;
}

}  // namespace

std::string digest_letters(std::string_view text) {
  const std::uint32_t crc = crc32(text);
  std::string letters;
  for (int shift = 28; shift >= 0; shift -= 4) {
    letters.push_back(static_cast<char>('a' + ((crc >> static_cast<unsigned>(shift)) & 15U)));
  }
  return letters;
}

Reply make_reply(const ReplyRequest& request) {
  std::string text = digest_letters(request.echo);
  Rng rng(request.seed ^ (std::uint64_t{crc32(request.echo)} << 20U));
  const std::size_t natural =
      std::max(kShortestReply + uniform_index(rng, kReplySpread), request.min_tokens);
  const bool speaks_on = request.ignore_eos || natural >= request.max_tokens;
  const std::size_t length = speaks_on ? request.max_tokens : natural;
  // A word is at least one token.
  for (std::size_t words = 0; words < length; ++words) {
    text += ' ';
    text += kWords[uniform_index(rng, kWords.size())];
  }
  Reply reply;
  tokenize(text, reply.tokens);
  reply.tokens.resize(length);
  if (!speaks_on) {
    reply.tokens.push_back(kTurnEnd);
    reply.ends = FinishReason::kStop;
  }
  return reply;
}

}  // namespace rolter::simulator
