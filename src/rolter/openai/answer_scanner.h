#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rolter::openai {

/// The keys of engines' answers that matter to the gateway.
enum class AnswerWord : std::uint8_t {
  kOther,  // any other key
  kRoot,   // the outermost value
  kItem,   // an element of an array
  kArguments,
  kCacheCreationInputTokens,
  kCacheReadInputTokens,
  kCachedTokens,
  kChoices,
  kCompletionTokens,
  kContent,
  kContentBlock,
  kDelta,
  kError,
  kFinishReason,
  kId,
  kIndex,
  kInputTokens,
  kMessage,
  kMeta,  // keys whose strings are never an answer's content: role, status, ...
  kName,
  kOutput,
  kOutputTokens,
  kPartialJson,
  kPromptTokens,
  kReasoning,
  kResponse,
  kText,
  kThinking,
  kType,
  kUsage,
};

/// Reads JSON as it comes, cut anywhere, without keeping it: tells a listener what opens, closes
/// and ends, and where. Never fails: what is not JSON gives events without meaning. Fixed memory;
/// strings and arrays of numbers are passed over with memchr.
class AnswerScanner {
 public:
  /// The longest string or number that a listener sees whole.
  static constexpr std::size_t kCaptured = 256;

  class Listener {
   public:
    virtual ~Listener() = default;
    /// A container has been opened: it is container(0) now.
    virtual void on_open(AnswerWord word) = 0;
    /// container(0) is about to be left.
    virtual void on_close() = 0;
    /// Whether the text of the string that begins is wanted through on_text().
    virtual bool wants_text(AnswerWord word) = 0;
    /// The next bytes of a wanted string, still escaped, cut anywhere.
    virtual void on_text(std::string_view escaped) = 0;
    /// A string has ended; `escaped` is at most its first kCaptured bytes.
    virtual void on_string(AnswerWord word, std::string_view escaped) = 0;
    /// A number or literal has ended, except numbers in arrays.
    virtual void on_scalar(AnswerWord word, std::string_view text) = 0;
  };

  explicit AnswerScanner(Listener& listener) : listener_(listener) {}

  /// What follows a complete text is passed over.
  void feed(std::string_view bytes);

  /// Begins another text.
  void restart();

  /// Whether the outermost object or array has been closed.
  [[nodiscard]] bool complete() const { return complete_; }

  /// How many containers are open.
  [[nodiscard]] std::size_t depth() const { return depth_; }

  /// The key of the innermost open container (0), of the one around it (1), and so on.
  [[nodiscard]] AnswerWord container(std::size_t outward) const {
    const bool known = outward < depth_ && depth_ - outward < kTracked;
    return known ? words_[depth_ - outward] : AnswerWord::kOther;
  }

 private:
  static constexpr std::size_t kTracked = 32;  // levels; deeper ones are only counted

  enum class State : std::uint8_t { kBetween, kString, kEscape, kScalar };

  struct Token {
    std::string_view text;  // at most kCaptured bytes
    bool cut;               // longer than that
  };

  const char* between(const char* at, const char* end);
  const char* begin_scalar(const char* at, const char* end);
  const char* in_string(const char* at, const char* end);
  const char* in_scalar(const char* at, const char* end);
  static const char* pass_numbers(const char* at, const char* end);
  void open(bool is_object);
  void close();
  void begin_string();
  void keep(const char* from, const char* to);
  [[nodiscard]] Token token_to(const char* from, const char* to);
  void end_string(const char* from, const char* quote);
  [[nodiscard]] bool in_object() const { return depth_ < kTracked && is_object_[depth_]; }
  [[nodiscard]] AnswerWord word_here() const;

  Listener& listener_;
  State state_ = State::kBetween;
  bool expects_key_ = false;
  bool is_key_ = false;
  bool wanted_ = false;
  bool complete_ = false;
  AnswerWord key_ = AnswerWord::kOther;
  std::size_t depth_ = 0;
  std::array<AnswerWord, kTracked> words_{};
  std::array<bool, kTracked> is_object_{};
  std::size_t token_size_ = 0;  // of a string or scalar that earlier bytes began
  bool token_cut_ = false;
  std::array<char, kCaptured> token_{};
};

}  // namespace rolter::openai
