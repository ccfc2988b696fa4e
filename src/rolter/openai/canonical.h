#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rolter/openai/json_document.h"

namespace rolter::openai {

/// Writes JSON values in one form whatever their spacing, escapes and order of members: no spaces,
/// strings unescaped, members sorted. Members named "cache_control" are left out: clients move them
/// from turn to turn, and they never reach the prompt.
///
/// The form is for comparing, not for reading back. Costs O(n log n) in the tokens of the value.
/// Keeps scratch memory; not thread-safe.
class Canonical {
 public:
  /// False when a string holds an invalid escape; what came before it has been appended.
  [[nodiscard]] bool append(std::string& out, const JsonDocument& document,
                            JsonDocument::Token value);

  /// XXH3 of the canonical form, made without building it. Sets `good` to false as above. Values
  /// that come again byte for byte, as a client's tools do with every request, cost only XXH3 of
  /// their text: 20 KB of tools 2 us instead of 40.
  [[nodiscard]] std::uint64_t digest(const JsonDocument& document, JsonDocument::Token value,
                                     bool& good);

  void trim();

 private:
  struct Member {
    std::uint64_t order;  // hash of the unescaped key
    std::string_view key;
    JsonDocument::Token value;
  };

  /// The digest of a text that was seen before, at a place given by the text's hash.
  struct Known {
    std::uint64_t text_hash = 0;
    std::uint64_t digest = 0;
  };

  template <typename Sink>
  bool write(const JsonDocument& document, JsonDocument::Token value, Sink& sink);
  template <typename Sink>
  bool write_object(const JsonDocument& document, JsonDocument::Token object, Sink& sink);

  std::array<Known, 64> known_{};
  std::vector<Member> members_;  // of all objects that are being written, innermost last
};

}  // namespace rolter::openai
