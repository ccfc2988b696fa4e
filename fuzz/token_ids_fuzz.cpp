// x-rolter-vllm-token-ids: whatever is read must, written out again, be read the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "rolter/kvcache/token_ids_header.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view value(reinterpret_cast<const char*>(data), size);
  std::vector<rolter::TokenId> ids;
  if (!rolter::kvcache::parse_token_ids(value, ids)) {
    return ids.empty() ? 0 : (std::abort(), 0);
  }
  std::string written;
  for (const rolter::TokenId id : ids) {
    written += (written.empty() ? "" : ", ") + std::to_string(id);
  }
  std::vector<rolter::TokenId> again;
  if (ids.empty() || !rolter::kvcache::parse_token_ids(written, again) || again != ids) {
    std::abort();
  }
  return 0;
}
