#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "rolter/openai/prompt.h"

namespace rolter::proxy {

/// About 512 tokens of English, a block of the public traces.
inline constexpr std::size_t kPromptBlockBytes = 2'048;

/// Appends a digest per block of the prompt's text, the last one partial, 16 hexadecimal digits
/// each. Equal digests mean an equal block and equal ones before it. The seed is to be random:
/// without it, a guess at the text cannot simply be hashed and compared.
void append_prompt_blocks(const openai::Prompt& prompt, std::uint64_t seed, std::string& out);

}  // namespace rolter::proxy
