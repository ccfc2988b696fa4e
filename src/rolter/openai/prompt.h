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
/// cache_salt, tools, and the model or adapter name. Prompts with different roots share nothing.
///
/// `text` points into the scratch memory of the parser that made it.
///
/// An empty text means that there is nothing to match or to remember: /tokenize, /detokenize,
/// count_tokens and audio neither use nor fill the KV cache.
struct Prompt {
  std::uint64_t root = 0;
  std::string_view text;
};

/// The model's share of a root, which the parser computes for the name in the request. One prompt
/// under another name (an alias, the upstream's own name):
/// `prompt.root ^ root_of_model(requested) ^ root_of_model(upstream)`.
[[nodiscard]] std::uint64_t root_of_model(std::string_view model);

}  // namespace rolter::openai
