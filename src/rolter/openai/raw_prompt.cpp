#include "rolter/openai/raw_prompt.h"

#include <charconv>
#include <optional>
#include <string_view>

namespace rolter::openai {
namespace {

using Token = JsonDocument::Token;

std::optional<std::uint32_t> token_id(const JsonDocument& document, Token value) {
  if (!document.is_number(value)) {
    return std::nullopt;
  }
  const std::string_view digits = document.scalar(value);
  std::uint32_t id = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), id);
  if (error != std::errc{} || end != digits.data() + digits.size()) {
    return std::nullopt;
  }
  return id;
}

}  // namespace

/// Recursion is bounded by JsonDocument::kMaxDepth.
void RawPrompt::add(Token value) {
  if (document_.is_string(value)) {
    begin_item();
    text_.add_raw(document_.escaped(value));
  } else if (document_.is_object(value)) {
    begin_item();
    if (!canonical_.append(text_.buffer(), document_, value)) {
      text_.note_bad_escape();
    }
  } else if (document_.is_array(value)) {
    if (document_.is_number(document_.first_element(value))) {
      add_ids(value);
    } else {
      document_.for_each_element(value, [this](Token element) { add(element); });
    }
  }
}

void RawPrompt::begin_item() {
  if (any_) {
    text_.begin_item();
  }
  any_ = true;
}

void RawPrompt::add_ids(Token array) {
  begins_with_ids_ = begins_with_ids_ || !any_;
  const bool keep = ids_.empty();
  begin_item();
  bool all_ids = true;
  document_.for_each_element(array, [&](Token element) {
    const auto id = token_id(document_, element);
    if (!id) {
      all_ids = false;
      return;
    }
    text_.add_token_id(*id);
    if (keep) {
      ids_.push_back(*id);
    }
  });
  if (keep && !all_ids) {
    ids_.clear();  // the engine will refuse it
  }
}

}  // namespace rolter::openai
