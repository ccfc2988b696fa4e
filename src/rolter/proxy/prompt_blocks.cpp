#include "rolter/proxy/prompt_blocks.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <iterator>
#include <string_view>

#include "rolter/openai/hash.h"

namespace rolter::proxy {

void append_prompt_blocks(const openai::Prompt& prompt, std::uint64_t seed, std::string& out) {
  std::uint64_t digest = seed ^ prompt.root;
  for (std::size_t at = 0; at < prompt.text.size(); at += kPromptBlockBytes) {
    digest = openai::hash_bytes(prompt.text.substr(at, kPromptBlockBytes), digest);
    fmt::format_to(std::back_inserter(out), FMT_COMPILE("{:016x}"), digest);
  }
}

}  // namespace rolter::proxy
