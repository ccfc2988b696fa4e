#include "rolter/openai/answer_scanner.h"

#include <algorithm>
#include <utility>

#include "rolter/openai/byte_search.h"
#include "rolter/openai/key_table.h"

namespace rolter::openai {
namespace {

constexpr KeyTable kWords(std::to_array<std::pair<std::string_view, AnswerWord>>({
    {"arguments", AnswerWord::kArguments},
    {"cache_creation_input_tokens", AnswerWord::kCacheCreationInputTokens},
    {"cache_read_input_tokens", AnswerWord::kCacheReadInputTokens},
    {"cached_tokens", AnswerWord::kCachedTokens},
    {"choices", AnswerWord::kChoices},
    {"completion_tokens", AnswerWord::kCompletionTokens},
    {"content", AnswerWord::kContent},
    {"content_block", AnswerWord::kContentBlock},
    {"delta", AnswerWord::kDelta},
    {"error", AnswerWord::kError},
    {"finish_reason", AnswerWord::kFinishReason},
    {"id", AnswerWord::kId},
    {"index", AnswerWord::kIndex},
    {"input_tokens", AnswerWord::kInputTokens},
    {"message", AnswerWord::kMessage},
    {"name", AnswerWord::kName},
    {"output", AnswerWord::kOutput},
    {"output_tokens", AnswerWord::kOutputTokens},
    {"partial_json", AnswerWord::kPartialJson},
    {"prompt_tokens", AnswerWord::kPromptTokens},
    {"reasoning", AnswerWord::kReasoning},
    {"reasoning_content", AnswerWord::kReasoning},
    {"response", AnswerWord::kResponse},
    {"text", AnswerWord::kText},
    {"thinking", AnswerWord::kThinking},
    {"type", AnswerWord::kType},
    {"usage", AnswerWord::kUsage},
    {"role", AnswerWord::kMeta},
    {"object", AnswerWord::kMeta},
    {"status", AnswerWord::kMeta},
    {"phase", AnswerWord::kMeta},
    {"call_id", AnswerWord::kMeta},
    {"signature", AnswerWord::kMeta},
    {"stop_reason", AnswerWord::kMeta},
    {"stop_sequence", AnswerWord::kMeta},
}));

/// The first quote or backslash in [at, end), or end.
const char* find_mark(const char* at, const char* end) {
  for (; end - at >= static_cast<std::ptrdiff_t>(sizeof(Bytes16)); at += sizeof(Bytes16)) {
    const Bytes16 bytes = load_bytes(at);
    if (const auto first = first_set((bytes == '"') | (bytes == '\\')); first < sizeof(Bytes16)) {
      return at + first;
    }
  }
  return std::find_if(at, end, [](char c) { return c == '"' || c == '\\'; });
}

/// Any control character, too: what is not JSON only has to be passed.
bool is_space(char c) {
  return static_cast<unsigned char>(c) <= ' ';
}

constexpr auto kEndsScalar = [] {
  std::array<bool, 256> ends{};
  for (std::size_t byte = 0; byte <= ' '; ++byte) {
    ends[byte] = true;
  }
  for (const char c : std::string_view("\",:[]{}")) {
    ends[static_cast<unsigned char>(c)] = true;
  }
  return ends;
}();

const char* find_scalar_end(const char* at, const char* end) {
  while (at != end && !kEndsScalar[static_cast<unsigned char>(*at)]) {
    ++at;
  }
  return at;
}

}  // namespace

void AnswerScanner::feed(std::string_view bytes) {
  const char* at = bytes.data();
  const char* const end = at + bytes.size();
  while (at < end && !complete_) {
    switch (state_) {
      case State::kBetween:
        at = between(at, end);
        break;
      case State::kString:
        at = in_string(at, end);
        break;
      case State::kEscape:
        keep(at, at + 1);
        ++at;
        state_ = State::kString;
        break;
      case State::kScalar:
        at = in_scalar(at, end);
        break;
    }
  }
}

void AnswerScanner::restart() {
  state_ = State::kBetween;
  expects_key_ = false;
  complete_ = false;
  key_ = AnswerWord::kOther;
  depth_ = 0;
}

const char* AnswerScanner::between(const char* at, const char* end) {
  while (at < end && !complete_) {
    switch (*at) {
      case '"':
        begin_string();
        at = in_string(at + 1, end);
        break;
      case '{':
      case '[':
        open(*at++ == '{');
        break;
      case '}':
      case ']':
        ++at;
        close();
        break;
      case ',':
        ++at;
        expects_key_ = in_object();
        break;
      case ':':
        ++at;
        break;
      default:
        at = is_space(*at) ? at + 1 : begin_scalar(at, end);
        break;
    }
    if (state_ != State::kBetween) {
      return at;  // cut within a string or scalar
    }
  }
  return at;
}

const char* AnswerScanner::begin_scalar(const char* at, const char* end) {
  if (!in_object() && depth_ > 0) {
    const char* const passed = pass_numbers(at, end);
    if (passed != at) {
      return passed;
    }
  }
  token_size_ = 0;
  token_cut_ = false;
  state_ = State::kScalar;
  return in_scalar(at, end);
}

/// The end of the next scalars of an array, or `at` when something else is near.
const char* AnswerScanner::pass_numbers(const char* at, const char* end) {
  constexpr std::ptrdiff_t kWindow = 1024;  // so that a mixed array costs no search to its end each
  end = std::min(end, at + std::min(kWindow, end - at));
  const char* const closing = find_byte(at, end, ']');
  const bool plain =
      find_byte(at, closing, '"') == closing && find_byte(at, closing, '{') == closing &&
      find_byte(at, closing, '[') == closing && find_byte(at, closing, '}') == closing;
  return plain ? closing : at;
}

const char* AnswerScanner::in_string(const char* at, const char* end) {
  const char* const from = at;
  for (;;) {
    at = find_mark(at, end);
    if (at == end) {
      keep(from, end);
      return end;
    }
    if (*at == '"') {
      end_string(from, at);
      return at + 1;
    }
    if (at + 1 == end) {
      keep(from, end);
      state_ = State::kEscape;
      return end;
    }
    at += 2;
  }
}

const char* AnswerScanner::in_scalar(const char* at, const char* end) {
  const char* const stop = find_scalar_end(at, end);
  if (stop == end) {
    keep(at, end);
    return end;
  }
  const Token token = token_to(at, stop);
  state_ = State::kBetween;
  if (!token.cut) {
    listener_.on_scalar(word_here(), token.text);
  }
  return stop;
}

void AnswerScanner::open(bool is_object) {
  const AnswerWord word = word_here();
  ++depth_;
  if (depth_ < kTracked) {
    words_[depth_] = word;
    is_object_[depth_] = is_object;
    listener_.on_open(word);
  }
  expects_key_ = is_object;
}

void AnswerScanner::close() {
  if (depth_ == 0) {
    return;
  }
  if (depth_ < kTracked) {
    listener_.on_close();
  }
  --depth_;
  expects_key_ = false;
  complete_ = complete_ || depth_ == 0;
}

void AnswerScanner::begin_string() {
  state_ = State::kString;
  is_key_ = expects_key_;
  wanted_ = !is_key_ && depth_ < kTracked && listener_.wants_text(word_here());
  token_size_ = 0;
  token_cut_ = false;
}

/// The next bytes of a string or scalar that goes on in what is fed next.
void AnswerScanner::keep(const char* from, const char* to) {
  const auto size = static_cast<std::size_t>(to - from);
  const std::size_t kept = std::min(size, kCaptured - token_size_);
  std::copy_n(from, kept, token_.data() + token_size_);
  token_size_ += kept;
  token_cut_ = token_cut_ || kept < size;
  if (wanted_ && state_ != State::kScalar && size > 0) {
    listener_.on_text({from, size});
  }
}

/// A string or scalar with its last bytes, which are not copied when they are all of it.
AnswerScanner::Token AnswerScanner::token_to(const char* from, const char* to) {
  if (token_size_ > 0) {
    keep(from, to);
    return {{token_.data(), token_size_}, token_cut_};
  }
  const std::string_view whole(from, to);
  if (wanted_ && state_ != State::kScalar && !whole.empty()) {
    listener_.on_text(whole);
  }
  return {whole.substr(0, kCaptured), whole.size() > kCaptured};
}

void AnswerScanner::end_string(const char* from, const char* quote) {
  const Token token = token_to(from, quote);
  state_ = State::kBetween;
  if (is_key_) {
    expects_key_ = false;
    key_ = token.cut ? AnswerWord::kOther : kWords.find(token.text).value_or(AnswerWord::kOther);
  } else if (depth_ < kTracked) {
    listener_.on_string(word_here(), token.text);
  }
}

AnswerWord AnswerScanner::word_here() const {
  if (depth_ == 0) {
    return AnswerWord::kRoot;
  }
  return in_object() ? key_ : AnswerWord::kItem;
}

}  // namespace rolter::openai
