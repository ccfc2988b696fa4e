#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace rolter::openai {

/// Writes Prompt::text. Turns are framed by one byte (two for a role we do not know) that cannot
/// occur in UTF-8, the first turn by none:
///
///   0xF8 system  0xF9 user  0xFA assistant  0xFB tool  0xFC developer  0xFD function
///   0xFE + one byte of the role's hash: any other role
///   0xFF separates items within a turn: a tool call, a medium's digest, a prompt of a list
///
/// Keeps its memory for the next prompt. Not thread-safe.
class PromptText {
 public:
  static constexpr char kAssistantTurn = static_cast<char>(0xFA);
  static constexpr char kItem = static_cast<char>(0xFF);

  /// Forgets the prompt; gives back memory beyond `kept_bytes`.
  void clear(std::size_t kept_bytes);

  /// Begins a turn. The first one only sets first_role().
  void begin_turn(std::string_view role);

  /// Adds text that is still escaped as in JSON. Adjacent texts of a turn are joined by a newline,
  /// as vLLM joins text parts.
  void add_text(std::string_view escaped);

  /// Begins an item; what follows is joined to it without a newline.
  void begin_item();

  /// Adds escaped text as it is, without a newline.
  void add_raw(std::string_view escaped);

  /// Adds an item that stands for a medium or anything else that is not text.
  void add_digest(std::uint64_t digest);

  /// Adds 4 bytes, least significant first.
  void add_token_id(std::uint32_t id);

  /// For writers that append on their own, after begin_item().
  [[nodiscard]] std::string& buffer() { return text_; }

  /// Whether a digest is part of it.
  [[nodiscard]] bool has_media() const { return has_media_; }

  /// Notes that a string held an escape that is not JSON.
  void note_bad_escape() { good_ = false; }

  [[nodiscard]] bool good() const { return good_; }
  [[nodiscard]] std::string_view view() const { return text_; }

  /// A number for the first turn's role, 0 when there was no turn.
  [[nodiscard]] std::uint32_t first_role() const { return first_role_; }

 private:
  std::string text_;
  std::uint32_t first_role_ = 0;
  bool joins_ = false;  // whether the next text follows a text of the same turn
  bool has_media_ = false;
  bool good_ = true;
};

}  // namespace rolter::openai
