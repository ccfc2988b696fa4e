#include "rolter/feeds/tokenize_answer.h"

#include <simdjson.h>

#include <cstdint>
#include <limits>

namespace rolter::feeds {

Result<std::vector<TokenId>> read_tokenize_answer(std::string_view body) {
  simdjson::dom::parser parser;
  simdjson::dom::array tokens;
  if (parser.parse(body.data(), body.size())["tokens"].get(tokens) != simdjson::SUCCESS) {
    return fail(ErrorKind::kInvalidInput, "no list \"tokens\" in the answer",
                ErrorSource::kUpstream);
  }
  std::vector<TokenId> ids;
  ids.reserve(tokens.size());
  for (const simdjson::dom::element token : tokens) {
    std::uint64_t id = 0;
    if (token.get(id) != simdjson::SUCCESS || id > std::numeric_limits<TokenId>::max()) {
      return fail(ErrorKind::kInvalidInput, "\"tokens\" holds something that is no token id",
                  ErrorSource::kUpstream);
    }
    ids.push_back(static_cast<TokenId>(id));
  }
  return ids;
}

}  // namespace rolter::feeds
