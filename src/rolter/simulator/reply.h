#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rolter/base/ids.h"
#include "rolter/simulator/sequence.h"

namespace rolter::simulator {

/// Eight letters that tell one prompt from another: CRC-32 (as zlib's), one letter 'a'..'p' per
/// nibble, highest first. In Python: "".join("abcdefghijklmnop"[int(d, 16)] for d in
/// f"{zlib.crc32(text):08x}").
[[nodiscard]] std::string digest_letters(std::string_view text);

struct ReplyRequest {
  std::string_view echo;   // text whose digest the reply starts with: the last turn, or the prompt
  std::uint64_t seed = 0;  // engine's and request's seed and the choice's index, mixed
  std::size_t max_tokens = 0;  // >= 1
  std::size_t min_tokens = 0;
  bool ignore_eos = false;  // speak for max_tokens
};

/// What the model will say.
struct Reply {
  std::vector<TokenId> tokens;  // with the end token when it ends by itself; 1 .. max_tokens
  FinishReason ends = FinishReason::kLength;
};

/// The same request gives the same reply, and another prompt another one: "<digest> words ...". The
/// digest fits in three tokens, so answers that were mixed up show in their first twelve bytes.
/// Left alone it speaks 16 to 143 tokens.
[[nodiscard]] Reply make_reply(const ReplyRequest& request);

}  // namespace rolter::simulator
