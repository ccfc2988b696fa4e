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
/// Both point into the request's scratch memory and live as long as the request does.
struct Prompt {
  std::uint64_t root = 0;
  std::string_view text;
};

}  // namespace rolter::openai
