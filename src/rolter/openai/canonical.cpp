#include "rolter/openai/canonical.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "rolter/openai/hash.h"
#include "rolter/openai/json_string.h"

namespace rolter::openai {
namespace {

using Token = JsonDocument::Token;

constexpr std::string_view kIgnoredMember = "cache_control";

/// Hash of a key as it reads, however it is spelled. A key with a bad escape is caught when it is
/// written.
std::uint64_t key_order(std::string_view escaped) {
  if (!has_escape(escaped)) {
    return hash_bytes(escaped);
  }
  HashStream hash;
  (void)unescape(escaped, [&hash](std::string_view piece) { hash.add(piece); });
  return hash.value();
}

}  // namespace

bool Canonical::append(std::string& out, const JsonDocument& document, Token value) {
  auto sink = [&out](std::string_view piece) { out.append(piece); };
  return write(document, value, sink);
}

std::uint64_t Canonical::digest(const JsonDocument& document, Token value, bool& good) {
  const std::uint64_t text_hash = hash_bytes(document.raw(value));
  Known& known = known_[text_hash % known_.size()];
  if (known.text_hash != text_hash) {
    HashStream hash;
    auto sink = [&hash](std::string_view piece) { hash.add(piece); };
    if (!write(document, value, sink)) {
      good = false;
      return 0;
    }
    known = {text_hash, hash.value()};
  }
  return known.digest;
}

void Canonical::trim() {
  if (members_.capacity() * sizeof(Member) > JsonDocument::kKeptBytes) {
    std::vector<Member>().swap(members_);
  }
}

template <typename Sink>
bool Canonical::write(const JsonDocument& document, Token value, Sink& sink) {
  if (document.is_string(value)) {
    sink("\"");
    const bool good = unescape(document.escaped(value), sink);
    sink("\"");
    return good;
  }
  if (document.is_object(value)) {
    return write_object(document, value, sink);
  }
  if (!document.is_array(value)) {
    sink(document.scalar(value));
    return true;
  }
  bool good = true;
  sink("[");
  document.for_each_element(value, [&](Token element) {
    good = write(document, element, sink) && good;
    sink(",");
  });
  sink("]");
  return good;
}

/// Recursion is bounded by JsonDocument::kMaxDepth, about 150 bytes of stack per level.
template <typename Sink>
bool Canonical::write_object(const JsonDocument& document, Token object, Sink& sink) {
  const std::size_t first = members_.size();
  document.for_each_member(object, [&](std::string_view key, Token value) {
    if (key != kIgnoredMember) {
      members_.push_back({key_order(key), key, value});
    }
  });
  const std::size_t last = members_.size();
  std::sort(members_.begin() + static_cast<std::ptrdiff_t>(first), members_.end(),
            [](const Member& a, const Member& b) {
              return std::pair(a.order, a.value) < std::pair(b.order, b.value);
            });
  bool good = true;
  sink("{");
  for (std::size_t i = first; i < last; ++i) {
    const Member member = members_[i];  // the vector grows while its value is written
    sink("\"");
    good = unescape(member.key, sink) && good;
    sink("\":");
    good = write(document, member.value, sink) && good;
    sink(",");
  }
  sink("}");
  members_.resize(first);
  return good;
}

}  // namespace rolter::openai
