#include "rolter/openai/answer_reader.h"

#include <charconv>

namespace rolter::openai {
namespace {

using enum AnswerWord;

/// Far beyond any context: a larger number is no count, and sums of it would wrap.
constexpr std::uint64_t kMostTokens = 1'000'000'000;

bool contains(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

/// A chunk without what stands before its choices (id, model, ...), which is half of it; nothing
/// unless that is strings and numbers alone, so that what is left reads the same after a brace.
std::string_view from_choices_on(std::string_view event) {
  const std::size_t choices = event.find(R"("choices")");
  if (choices == std::string_view::npos || !event.starts_with('{')) {
    return {};
  }
  const std::string_view before = event.substr(1, choices - 1);
  for (const char bracket : {'{', '[', '}', ']'}) {
    if (before.find(bracket) != std::string_view::npos) {
      return {};
    }
  }
  return event.substr(choices);
}

}  // namespace

AnswerFamily family_of(Endpoint endpoint) {
  switch (endpoint) {
    case Endpoint::kChatCompletions:
    case Endpoint::kCompletions:
    case Endpoint::kAudio:
      return AnswerFamily::kChat;
    case Endpoint::kMessages:
      return AnswerFamily::kMessages;
    case Endpoint::kResponses:
      return AnswerFamily::kResponses;
    default:
      return AnswerFamily::kOther;
  }
}

void AnswerReader::restart() {
  scanner_.restart();
  payload_depth_ = 0;
  usage_depth_ = 0;
  choice_ = 0;
}

void AnswerReader::read_event(std::string_view event) {
  if (can_skip(event)) {
    return;
  }
  restart();
  const std::string_view choices =
      family_ == AnswerFamily::kChat ? from_choices_on(event) : std::string_view();
  if (!choices.empty()) {
    feed("{");
  }
  feed(choices.empty() ? event : choices);
}

/// Once content was seen, most events hold nothing new unless the reply is kept.
/// What is looked for is the end of a key or name with its quote, which cannot stand in escaped
/// text: there the quote has a backslash before it.
bool AnswerReader::can_skip(std::string_view event) const {
  if (!content_ || reply_.wants_more()) {
    return false;
  }
  switch (family_) {
    case AnswerFamily::kMessages:
      return !contains(event, "usage\"") && !contains(event, "message_stop\"");
    case AnswerFamily::kResponses:
      return !contains(event, "usage\"") && !contains(event, "response\"") &&
             !contains(event, "complete") && !contains(event, "failed\"");
    case AnswerFamily::kChat:
    case AnswerFamily::kOther:
      return !contains(event, "usage\"");
  }
  return false;
}

bool AnswerReader::is_empty_abort() const {
  if (content_) {
    return false;
  }
  const bool says_so = family_ == AnswerFamily::kChat || family_ == AnswerFamily::kOther;
  return says_so ? aborted_ : end_ && has_usage_ && counts_.completion == 0;
}

std::optional<Usage> AnswerReader::usage() const {
  if (!has_usage_) {
    return std::nullopt;
  }
  Usage usage;
  usage.prompt_tokens = counts_.prompt + counts_.cache_read.value_or(0) + counts_.cache_creation;
  usage.completion_tokens = counts_.completion;
  usage.cached_tokens = counts_.cached ? counts_.cached : counts_.cache_read;
  if (usage.cached_tokens.value_or(0) > usage.prompt_tokens) {
    return std::nullopt;  // whatever it counts, it is not this prompt
  }
  return usage;
}

void AnswerReader::on_open(AnswerWord word) {
  const std::size_t depth = scanner_.depth();
  if (payload_depth_ == 0 && opens_payload(word)) {
    payload_depth_ = depth;
    field_level_ = word == kOutput || word == kContent ? 1 : 0;
  } else if (payload_depth_ > 0 && word == kItem && level() == 1) {
    family_ == AnswerFamily::kResponses ? reply_.begin_turn() : reply_.begin_block();
  } else if (payload_depth_ == 0 && word == kUsage && is_outermost()) {
    usage_depth_ = depth;
    has_usage_ = true;
  } else if (word == kItem && scanner_.container(1) == kChoices) {
    choice_ = 0;
  } else if (word == kError && is_outermost()) {
    content_ = true;
  }
  if (word == kContentBlock) {
    reply_.begin_block();
  }
}

void AnswerReader::on_close() {
  if (scanner_.depth() == payload_depth_) {
    payload_depth_ = 0;
  }
  if (scanner_.depth() == usage_depth_) {
    usage_depth_ = 0;
  }
}

/// Whether the container just opened is a member of the outermost object, or of what a /v1/messages
/// or /v1/responses event wraps it in: the names we look for may occur anywhere in a tool's schema.
bool AnswerReader::is_outermost() const {
  const std::size_t depth = scanner_.depth();
  const AnswerWord around = scanner_.container(1);
  return depth == 2 || (depth == 3 && (around == kMessage || around == kResponse));
}

/// Asked when the container that `word` names has just been opened.
bool AnswerReader::opens_payload(AnswerWord word) const {
  const bool in_choice = scanner_.container(1) == kItem && scanner_.container(2) == kChoices;
  switch (word) {
    case kContentBlock:
    case kOutput:
      return is_outermost();
    case kDelta:
      return is_outermost() || in_choice;
    case kMessage:
      return in_choice;
    case kContent:
      return family_ == AnswerFamily::kMessages && scanner_.depth() == 2;
    default:
      return false;
  }
}

bool AnswerReader::wants_text(AnswerWord word) {
  wanted_ = reply_.wants_more() && (is_reply_text(word) || is_reply_call(word));
  if (wanted_ && word == kName) {
    reply_.begin_call();
  }
  return wanted_;
}

bool AnswerReader::is_reply_text(AnswerWord word) const {
  if (payload_depth_ == 0) {
    return family_ == AnswerFamily::kChat && word == kText && choice_ == 0 &&
           scanner_.container(1) == kChoices;
  }
  switch (family_) {
    case AnswerFamily::kChat:
      return word == kContent && choice_ == 0 && level() == 0;
    case AnswerFamily::kMessages:
      return (word == kText || word == kThinking) && level() == field_level_;
    case AnswerFamily::kResponses:
      return word == kText && level() == 3;  // output[].content[].text
    case AnswerFamily::kOther:
      return false;
  }
  return false;
}

bool AnswerReader::is_reply_call(AnswerWord word) const {
  if (payload_depth_ == 0) {
    return false;
  }
  switch (family_) {
    case AnswerFamily::kChat:  // tool_calls[].function
      return (word == kName || word == kArguments) && choice_ == 0 && level() == 3;
    case AnswerFamily::kMessages:
      return (word == kName || word == kPartialJson) && level() == field_level_;
    case AnswerFamily::kResponses:
      return (word == kName || word == kArguments) && level() == 1;
    case AnswerFamily::kOther:
      return false;
  }
  return false;
}

void AnswerReader::on_string(AnswerWord word, std::string_view escaped) {
  if (wanted_) {
    reply_.end_string(is_reply_text(word));
    wanted_ = false;
  }
  if (escaped.empty()) {
    return;
  }
  if (payload_depth_ == 0) {
    on_plain_string(word, escaped);
  } else if (word != kMeta && word != kType && word != kId && word != kFinishReason) {
    content_ = true;
  }
}

/// Whether an event of this type is the last one. Chat completions end with a line that is no JSON.
bool AnswerReader::is_end(std::string_view type) const {
  if (family_ == AnswerFamily::kMessages) {
    return type == "message_stop";
  }
  return family_ == AnswerFamily::kResponses &&
         (type == "response.completed" || type == "response.incomplete" ||
          type == "response.failed");
}

/// Whether "id" here is that of a response: events wrap it in "response", a body does not.
bool AnswerReader::is_response_id() const {
  if (family_ != AnswerFamily::kResponses) {
    return false;
  }
  return form_ == AnswerForm::kBody ? scanner_.depth() == 1
                                    : scanner_.depth() == 2 && scanner_.container(0) == kResponse;
}

/// A string outside any payload that is not empty.
void AnswerReader::on_plain_string(AnswerWord word, std::string_view escaped) {
  const std::size_t depth = scanner_.depth();
  switch (word) {
    case kText:
      content_ = content_ || depth == 1 || scanner_.container(1) == kChoices;
      break;
    case kDelta:
    case kError:
      content_ = content_ || depth == 1;
      break;
    case kFinishReason:
      aborted_ = aborted_ || escaped == "abort";
      break;
    case kType:
      content_ = content_ || (depth == 1 && escaped == "error");
      end_ = end_ || (depth == 1 && is_end(escaped));
      break;
    case kId:
      if (is_response_id()) {
        response_id_ = escaped;
      }
      break;
    default:
      break;
  }
}

void AnswerReader::on_scalar(AnswerWord word, std::string_view text) {
  const bool is_choice_index =
      word == kIndex && payload_depth_ == 0 && scanner_.container(1) == kChoices;
  if (usage_depth_ == 0 && !is_choice_index) {
    return;
  }
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number > kMostTokens) {
    return;
  }
  if (usage_depth_ > 0) {
    read_count(word, number);
  } else {
    choice_ = number;
  }
}

void AnswerReader::read_count(AnswerWord word, std::uint64_t count) {
  const bool in_usage = scanner_.depth() == usage_depth_;
  switch (word) {
    case kPromptTokens:
    case kInputTokens:
      counts_.prompt = in_usage ? count : counts_.prompt;
      break;
    case kCompletionTokens:
    case kOutputTokens:
      counts_.completion = in_usage ? count : counts_.completion;
      break;
    case kCachedTokens:  // of prompt_tokens_details or input_tokens_details
      counts_.cached = count;
      break;
    case kCacheReadInputTokens:
      counts_.cache_read = count;
      break;
    case kCacheCreationInputTokens:
      counts_.cache_creation = count;
      break;
    default:
      break;
  }
}

}  // namespace rolter::openai
