#include "rolter/admission/presented_key.h"

#include <algorithm>

#include "rolter/base/ascii.h"

namespace rolter::admission {
namespace {

constexpr std::string_view kBlanks = " \t";

}  // namespace

void PresentedKey::see_authorization(std::string_view value) {
  value = trim_blanks(value);
  const std::size_t blank = std::min(value.find_first_of(kBlanks), value.size());
  if (iequals(value.substr(0, blank), "bearer")) {
    see(trim_blanks(value.substr(blank)));
  }
}

void PresentedKey::see_api_key(std::string_view value) {
  see(trim_blanks(value));
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
