#pragma once

#include <optional>
#include <string_view>

#include "rolter/base/error.h"

namespace rolter::admission {

/// The virtual key that a request presents: OpenAI clients send `Authorization: Bearer KEY`,
/// Anthropic's `x-api-key: KEY`. Feed it each such field of the head, repeated ones included; the
/// views must outlive it. Another scheme than Bearer (a proxy's Basic) presents no key.
class PresentedKey {
 public:
  void see_authorization(std::string_view value);
  void see_api_key(std::string_view value);

  /// kUnauthenticated when there was none, or when there were two different ones: which of them
  /// counts must not depend on who reads the request.
  [[nodiscard]] Result<std::string_view> get() const;

 private:
  void see(std::string_view key);

  std::optional<std::string_view> key_;
  bool conflicting_ = false;
};

}  // namespace rolter::admission
