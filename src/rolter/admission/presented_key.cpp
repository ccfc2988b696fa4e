#include "rolter/admission/presented_key.h"

#include <algorithm>

namespace rolter::admission {
namespace {

constexpr std::string_view kBlanks = " \t";

std::string_view trim(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(kBlanks), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

bool is_bearer(std::string_view scheme) {
  constexpr std::string_view kBearer = "bearer";
  return std::ranges::equal(scheme, kBearer, {}, [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
}

}  // namespace

void PresentedKey::see_authorization(std::string_view value) {
  value = trim(value);
  const std::size_t blank = std::min(value.find_first_of(kBlanks), value.size());
  if (is_bearer(value.substr(0, blank))) {
    see(trim(value.substr(blank)));
  }
}

void PresentedKey::see_api_key(std::string_view value) {
  see(trim(value));
}

void PresentedKey::see(std::string_view key) {
  if (key.empty()) {
    return;
  }
  conflicting_ = conflicting_ || (key_ && *key_ != key);
  key_ = key;
}

Result<std::string_view> PresentedKey::get() const {
  if (conflicting_) {
    return fail(ErrorKind::kUnauthenticated,
                "the request carries two different API keys; send one, as Authorization: Bearer or "
                "as x-api-key",
                ErrorSource::kClient);
  }
  if (!key_) {
    return fail(ErrorKind::kUnauthenticated,
                "the request carries no API key; send Authorization: Bearer KEY or x-api-key: KEY",
                ErrorSource::kClient);
  }
  return *key_;
}

}  // namespace rolter::admission
