#include "rolter/openai/prompt_text.h"

#include <array>
#include <utility>

#include "rolter/openai/hash.h"
#include "rolter/openai/json_string.h"
#include "rolter/openai/key_table.h"

namespace rolter::openai {
namespace {

constexpr char kUnknownRole = static_cast<char>(0xFE);

constexpr KeyTable kRoleMarks(std::to_array<std::pair<std::string_view, char>>({
    {"system", static_cast<char>(0xF8)},
    {"user", static_cast<char>(0xF9)},
    {"assistant", PromptText::kAssistantTurn},
    {"tool", static_cast<char>(0xFB)},
    {"developer", static_cast<char>(0xFC)},
    {"function", static_cast<char>(0xFD)},
}));

}  // namespace

void PromptText::clear(std::size_t kept_bytes) {
  if (text_.capacity() > kept_bytes) {
    std::string().swap(text_);
  }
  text_.clear();
  first_role_ = 0;
  joins_ = false;
  has_media_ = false;
  good_ = true;
}

void PromptText::begin_turn(std::string_view role) {
  const auto mark = kRoleMarks.find(role);
  const auto hash = mark ? char{0} : static_cast<char>(hash_bytes(role));
  joins_ = false;
  if (first_role_ == 0) {
    first_role_ = static_cast<unsigned char>(mark.value_or(kUnknownRole)) << 8U |
                  static_cast<unsigned char>(hash);
    return;
  }
  text_.push_back(mark.value_or(kUnknownRole));
  if (!mark) {
    text_.push_back(hash);
  }
}

void PromptText::add_text(std::string_view escaped) {
  if (joins_) {
    text_.push_back('\n');
  }
  joins_ = true;
  add_raw(escaped);
}

void PromptText::begin_item() {
  text_.push_back(kItem);
  joins_ = false;
}

void PromptText::add_raw(std::string_view escaped) {
  good_ = append_unescaped(text_, escaped) && good_;
}

void PromptText::add_digest(std::uint64_t digest) {
  has_media_ = true;
  begin_item();
  for (int byte = 0; byte < 8; ++byte) {
    text_.push_back(static_cast<char>(digest >> (8 * byte)));
  }
}

void PromptText::add_token_id(std::uint32_t id) {
  std::array<char, 4> bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<char>(id >> (8 * i));
  }
  text_.append(bytes.data(), bytes.size());
}

}  // namespace rolter::openai
