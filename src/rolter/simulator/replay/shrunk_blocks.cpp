#include "rolter/simulator/replay/shrunk_blocks.h"

#include <string_view>

namespace rolter::simulator::replay {
namespace {

/// SplitMix64 (Steele, Lea, Flood 2014): a few nanoseconds to seed and to draw from.
class SplitMix {
 public:
  explicit SplitMix(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15ULL;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ULL;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebULL;
    return mixed ^ (mixed >> 31);
  }

 private:
  std::uint64_t state_;
};

constexpr std::string_view kLetters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 .";
constexpr int kLetterBits = 6;
constexpr int kLettersPerDraw = 8;
constexpr TokenId kVocabulary = 131'072;

}  // namespace

void append_tokens(BlockId block, std::vector<TokenId>& tokens) {
  SplitMix random(std::uint64_t{block} << 1);
  for (std::uint32_t i = 0; i < kShrunkBlockTokens; ++i) {
    tokens.push_back(static_cast<TokenId>(random.next() % kVocabulary));
  }
}

void append_text(BlockId block, std::string& text) {
  SplitMix random((std::uint64_t{block} << 1) + 1);
  for (std::size_t i = 0; i < kShrunkBlockBytes / kLettersPerDraw; ++i) {
    std::uint64_t bits = random.next();
    for (int letter = 0; letter < kLettersPerDraw; ++letter) {
      text.push_back(kLetters[bits % kLetters.size()]);
      bits >>= kLetterBits;
    }
  }
}

}  // namespace rolter::simulator::replay
