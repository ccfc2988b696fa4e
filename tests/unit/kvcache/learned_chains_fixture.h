#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "rolter/kvcache/residency.h"
#include "tests/fakes/stored_blocks.h"

namespace rolter::kvcache {

inline constexpr std::uint32_t kTokensPerBlock = 4;

/// An engine whose tokenizer makes a token of every 4 bytes, with 2 more at each turn's beginning,
/// and announces what it stores in blocks of 4 tokens.
class LearnedChainsTest : public ::testing::Test {
 protected:
  struct Turn {
    char role;
    std::string text;
  };
  using Talk = std::vector<Turn>;
  static constexpr char kUser = static_cast<char>(0xF9);
  static constexpr char kAssistant = static_cast<char>(0xFA);

  LearnedChainsTest() { streams_ = {add_engine(0), add_engine(1)}; }

  StreamId add_engine(std::uint32_t replica) {
    const StreamId id =
        residency_.index
            .add_stream({.replica = ReplicaSlot{replica}, .block_size = kTokensPerBlock})
            .value();
    residency_.index.set_usable(id, true);
    return id;
  }

  static std::string text_of(const Talk& talk) {
    std::string text;
    for (const Turn& turn : talk) {
      text += (text.empty() ? std::string() : std::string(1, turn.role)) + turn.text;
    }
    return text;
  }

  /// What the model sees: as a chat template writes it, with the reply's opening at the end.
  std::vector<TokenId> tokens_of(const Talk& talk) const {
    std::vector<TokenId> tokens;
    const auto open = [&tokens](char role) {
      tokens.push_back(1);
      tokens.push_back(static_cast<unsigned char>(role));
    };
    for (std::size_t t = 0; t < talk.size(); ++t) {
      open(talk[t].role);
      const bool is_dropped = drops_replies_ && talk[t].role == kAssistant;
      const bool is_anew = rewrites_replies_ && talk[t].role == kAssistant;
      const std::string text = is_dropped ? "" : talk[t].text;
      for (std::size_t i = 0; i < text.size(); i += 4) {
        tokens.push_back(static_cast<TokenId>(std::hash<std::string>{}(text.substr(i, 4)) | 256) +
                         (is_anew ? 1 : 0));
      }
    }
    open(kAssistant);
    return tokens;
  }

  static std::vector<PromptMark> marks_of(const Talk& talk, std::uint64_t root = 1) {
    std::vector<PromptMark> marks;
    mark_prompt(marks_seed(root, "m", kTokensPerBlock), text_of(talk), PromptKind::kChat, marks);
    return marks;
  }

  LearnedChains::Begun begin(const std::vector<PromptMark>& marks, std::uint32_t replica = 0,
                             std::string_view own = "", bool one_reply = true) {
    return residency_.learned.begin({.prompt = prompt(marks),
                                     .replica = ReplicaSlot{replica},
                                     .own_session = own,
                                     .may_learn = true,
                                     .one_reply = one_reply},
                                    now_);
  }
  static LearnedChains::Prompt prompt(const std::vector<PromptMark>& marks) {
    return {
        .marks = marks, .kind = PromptKind::kChat, .block_size = kTokensPerBlock, .trust_id = 7};
  }

  /// The engine announces blocks [first, last) of a sequence.
  void store(const std::vector<TokenId>& tokens, std::size_t first, std::size_t last,
             std::string_view session, std::uint32_t replica = 0, std::uint64_t salt = 0) {
    std::vector<ChainKey> keys;
    chain_keys(tokens, kTokensPerBlock, {}, keys);
    fakes::StoredBlocks event{.hashes = {}, .tokens = {}, .block_size = kTokensPerBlock};
    for (std::size_t i = first; i < last; ++i) {
      event.hashes.push_back(static_cast<std::uint64_t>(keys[i]) ^ salt);
    }
    if (first > 0) {
      event.parent = static_cast<std::uint64_t>(keys[first - 1]) ^ salt;
    }
    event.tokens.assign(tokens.begin() + static_cast<std::ptrdiff_t>(first * kTokensPerBlock),
                        tokens.begin() + static_cast<std::ptrdiff_t>(last * kTokensPerBlock));
    event.session_id = session;
    event.apply(residency_.index, streams_[replica]);
  }
  static std::string id(SessionTag tag) { return std::string(TagText(tag).view()); }

  /// Whether usage is reported, as clients of streams rarely ask for it.
  enum class Usage : std::uint8_t { kReported, kSilent };

  /// A request from beginning to end, at an engine that has cached `cached` blocks of it; the reply
  /// is part of the conversation afterwards.
  SessionTag serve(Talk& talk, const std::string& reply, Usage usage = Usage::kReported,
                   std::size_t cached = 0) {
    const std::vector<PromptMark> marks = marks_of(talk);
    const std::vector<TokenId> tokens = tokens_of(talk);
    const auto begun = begin(marks);
    const std::size_t blocks = tokens.size() / kTokensPerBlock;
    if (blocks > cached) {
      store(tokens, cached, blocks, id(begun.tag));
    }
    std::vector<TokenId> all = tokens;
    for (std::size_t i = 0; i < reply.size(); i += 4) {
      all.push_back(static_cast<TokenId>(std::hash<std::string>{}(reply.substr(i, 4)) | 256));
    }
    for (std::size_t i = blocks; i < all.size() / kTokensPerBlock; ++i) {
      store(all, i, i + 1, id(begun.tag));
    }
    if (!reply.empty()) {
      residency_.learned.replied(begun.ticket, std::string(1, kAssistant) + reply);
    }
    if (usage == Usage::kReported) {
      residency_.learned.reported(begun.ticket, static_cast<std::uint32_t>(tokens.size()), {});
    }
    (void)residency_.learned.ended(begun.ticket, now_);
    now_ += std::chrono::seconds(1);
    if (!reply.empty()) {
      talk.push_back({kAssistant, reply});
    }
    return begun.tag;
  }

  /// Blocks of the talk's chain that its text is known to begin with; they must be the right ones.
  std::size_t known(const Talk& talk) {
    const std::vector<PromptMark> marks = marks_of(talk);
    std::vector<ChainKey> chain;
    (void)residency_.learned.find(prompt(marks), chain);
    std::vector<ChainKey> real;
    chain_keys(tokens_of(talk), kTokensPerBlock, {}, real);
    for (std::size_t i = 0; i < chain.size(); ++i) {
      EXPECT_TRUE(i < real.size() && chain[i] == real[i]) << "block " << i;
    }
    return chain.size();
  }

  static std::string words(std::size_t seed, std::size_t bytes) {
    std::string text;
    for (std::size_t i = 0; text.size() < bytes; ++i) {
      text += std::to_string((seed + 1) * 7919 + i * 104729) + " ";
    }
    text.resize(bytes);
    return text;
  }

  Residency residency_;
  std::vector<StreamId> streams_;
  TimePoint now_ = TimePoint{} + std::chrono::hours(1);
  bool rewrites_replies_ = false;  // the template: with other tokens than they were sampled with
  bool drops_replies_ = false;
};

}  // namespace rolter::kvcache
