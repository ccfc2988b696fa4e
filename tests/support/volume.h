#pragma once

namespace rolter {

#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer) || \
    __has_feature(thread_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

/// How often to repeat what is repeated for its figures or at random: under a sanitizer, where a
/// step takes ten times as long, a tenth finds what it can find.
template <typename Count>
[[nodiscard]] constexpr Count volume(Count count) {
  return kSanitized ? count / 10 : count;
}

}  // namespace rolter
