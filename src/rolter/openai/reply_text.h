#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rolter::openai {

/// Collects the text of a reply as the next request of the conversation will bring it back in its
/// prompt (see PromptText), up to a number of bytes; what comes after is dropped.
class ReplyText {
 public:
  explicit ReplyText(std::size_t limit) : limit_(limit), full_(limit == 0) {}

  [[nodiscard]] bool wants_more() const { return !full_; }
  [[nodiscard]] std::string_view view() const { return text_; }

  /// Another block of the turn follows: adjacent texts are joined by a newline.
  void begin_block() { joins_ = ends_in_text_; }

  /// Another item of the assistant follows, which the prompt frames as a turn of its own.
  void begin_turn();

  /// A tool call follows.
  void begin_call();

  /// The next bytes of a JSON string, still escaped, cut anywhere.
  void add_escaped(std::string_view piece);

  /// The string has ended; `is_text` tells text from the parts of a tool call.
  void end_string(bool is_text);

 private:
  void append_mark(char mark);

  std::size_t limit_;
  std::string text_;
  std::string escaped_;  // of the string that has not ended
  bool ends_in_text_ = false;
  bool joins_ = false;
  bool full_;
};

}  // namespace rolter::openai
