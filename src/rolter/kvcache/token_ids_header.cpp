#include "rolter/kvcache/token_ids_header.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <system_error>

namespace rolter::kvcache {
namespace {

std::string_view skip_blanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  return first == std::string_view::npos ? std::string_view{} : text.substr(first);
}

/// Reads one id and moves past it.
std::errc read_id(std::string_view& rest, TokenId& id) {
  if (rest.empty() || rest.front() < '0' || rest.front() > '9') {
    return std::errc::invalid_argument;
  }
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), id);
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  return error;
}

std::unexpected<Error> refuse(std::string_view value, std::string_view rest,
                              std::vector<TokenId>& ids) {
  ids.clear();
  return fail(
      ErrorKind::kInvalidInput,
      fmt::format("token ids: no decimal id below 2^32 at byte {}", value.size() - rest.size()),
      ErrorSource::kClient);
}

}  // namespace

Result<void> parse_token_ids(std::string_view value, std::vector<TokenId>& ids) {
  ids.clear();
  std::string_view rest = value;
  while (true) {
    rest = skip_blanks(rest);
    TokenId id = 0;
    const std::string_view place = rest;
    if (read_id(rest, id) != std::errc{}) {
      return refuse(value, place, ids);
    }
    if (ids.size() == kMaxTokenIds) {
      ids.clear();
      return fail(ErrorKind::kLimitExceeded, fmt::format("token ids: more than {}", kMaxTokenIds),
                  ErrorSource::kClient);
    }
    ids.push_back(id);
    rest = skip_blanks(rest);
    if (rest.empty()) {
      return {};
    }
    if (rest.front() != ',') {
      return refuse(value, rest, ids);
    }
    rest.remove_prefix(1);
  }
}

}  // namespace rolter::kvcache
