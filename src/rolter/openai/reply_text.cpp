#include "rolter/openai/reply_text.h"

#include <algorithm>

#include "rolter/openai/json_string.h"
#include "rolter/openai/prompt_text.h"

namespace rolter::openai {

void ReplyText::begin_turn() {
  if (!text_.empty()) {
    append_mark(PromptText::kAssistantTurn);
  }
}

void ReplyText::begin_call() {
  append_mark(PromptText::kItem);
}

void ReplyText::append_mark(char mark) {
  joins_ = false;
  ends_in_text_ = false;
  full_ = full_ || text_.size() == limit_;
  if (!full_) {
    text_.push_back(mark);
  }
}

void ReplyText::add_escaped(std::string_view piece) {
  if (full_) {
    return;
  }
  // Unescaped text is never longer than escaped text, so this bounds both.
  const std::size_t room = limit_ - std::min(limit_, text_.size() + escaped_.size());
  full_ = piece.size() > room;
  escaped_.append(piece.substr(0, room));
}

void ReplyText::end_string(bool is_text) {
  if (escaped_.empty()) {
    return;
  }
  if (is_text && joins_ && text_.size() + escaped_.size() < limit_) {
    text_.push_back('\n');
  }
  joins_ = false;
  ends_in_text_ = is_text;
  (void)append_unescaped(text_, escaped_);  // a cut escape at the limit is dropped
  escaped_.clear();
}

}  // namespace rolter::openai
