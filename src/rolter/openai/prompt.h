#pragma once

#include <cstdint>
#include <string_view>

namespace rolter::openai {

/// What of a request decides which KV-cache blocks it can reuse, as the prefix tree sees it: the
/// conversation itself (each turn's role and text, in order), never the JSON around it.
///
/// `text` is the first turn's text, then for every further turn one byte that names its role (a
/// byte that cannot occur in UTF-8) and its text. The first turn's role is part of `root`, so that
/// two unrelated questions share not a single byte.
///
/// `root` separates prompts that an engine keeps apart although their text is equal: first role,
/// cache_salt, tools. Prompts with different roots share nothing. The model is no part of it: an
/// index holds the prompts of one upstream model, by whatever alias it was asked for.
///
/// `text` points into the scratch memory of the parser that made it.
///
/// An empty text means that there is nothing to match or to remember: /tokenize, /detokenize,
/// count_tokens and audio neither use nor fill the KV cache.
struct Prompt {
  std::uint64_t root = 0;
  std::string_view text;
  bool has_media =
      false;             // a part of it is no text: what the engine makes of it is not in the text
  bool is_chat = false;  // turns, which a chat template writes
  bool is_list = false;  // several prompts in one request
};

}  // namespace rolter::openai
