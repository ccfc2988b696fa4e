#include <array>
#include <charconv>
#include <string>
#include <utility>

#include "rolter/openai/byte_search.h"
#include "rolter/openai/form_request.h"
#include "rolter/openai/json_document.h"
#include "rolter/openai/json_members.h"
#include "rolter/openai/json_string.h"
#include "rolter/openai/key_table.h"
#include "rolter/openai/multipart.h"
#include "rolter/openai/prompt_builder.h"
#include "rolter/openai/request_fields.h"
#include "rolter/openai/request_view.h"

namespace rolter::openai {
namespace {

using Token = JsonDocument::Token;

constexpr std::size_t kKeptBytes = JsonDocument::kKeptBytes;

enum class StreamOption : std::uint8_t { kIncludeUsage, kCount };

constexpr KeyTable kStreamOptions(std::to_array<std::pair<std::string_view, StreamOption>>({
    {"include_usage", StreamOption::kIncludeUsage},
}));

/// As pydantic, which reads the body in the engine, has it in its lax mode.
bool is_true(const JsonDocument& document, std::optional<Token> value) {
  if (!value) {
    return false;
  }
  const std::string_view text = document.scalar(*value);
  return text == "true" || text == "1" || text == "1.0" || text == R"("true")" || text == R"("1")";
}

/// 0 when absent or not a whole number >= 0.
template <typename Number>
Number whole_number(const JsonDocument& document, std::optional<Token> value) {
  Number number = 0;
  if (value && document.is_number(*value)) {
    const std::string_view digits = document.scalar(*value);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc{} || end != digits.data() + digits.size()) {
      return 0;
    }
  }
  return number;
}

/// A string's value: a view into the body, or into its own memory when it was escaped.
class PlainString {
 public:
  void clear(std::size_t kept_bytes) {
    if (unescaped_.capacity() > kept_bytes) {
      std::string().swap(unescaped_);
    }
    good_ = true;
  }

  /// "" when the value is absent or of another type.
  std::string_view read(const JsonDocument& document, std::optional<Token> value) {
    if (!value || !document.is_string(*value)) {
      return {};
    }
    const std::string_view escaped = document.escaped(*value);
    if (!has_escape(escaped)) {
      return escaped;
    }
    unescaped_.clear();
    good_ = append_unescaped(unescaped_, escaped);
    return unescaped_;
  }

  [[nodiscard]] bool good() const { return good_; }

 private:
  std::string unescaped_;
  bool good_ = true;
};

}  // namespace

struct RequestParser::Impl {
  JsonDocument document;
  PromptBuilder prompt;
  FormReader form;
  PlainString model;
  PlainString session_id;
  PlainString previous_response_id;
  PlainString cache_salt;

  void clear();
  Result<RequestView> parse_json(Endpoint endpoint, std::string_view body);
  void read_options(const RequestFields& fields, RequestView& view);
  [[nodiscard]] BodyEdit asking_usage(std::optional<Token> options, std::string_view body) const;
  [[nodiscard]] bool good() const {
    return prompt.good() && model.good() && session_id.good() && previous_response_id.good() &&
           cache_salt.good();
  }
};

void RequestParser::Impl::clear() {
  prompt.clear(kKeptBytes);
  for (PlainString* text : {&model, &session_id, &previous_response_id, &cache_salt}) {
    text->clear(kKeptBytes);
  }
}

Result<RequestView> RequestParser::Impl::parse_json(Endpoint endpoint, std::string_view body) {
  const bool marked = body.starts_with(kByteOrderMark);  // the engine's parser accepts it too
  const auto fault = document.read(marked ? body.substr(kByteOrderMark.size()) : body);
  if (fault) {
    return not_json(*fault);
  }
  const auto fields = read_request_fields(document);
  if (!fields) {
    return std::unexpected(fields.error());
  }
  RequestView view;
  const std::optional<Token> name = (*fields)[Field::kModel];
  const std::string_view quoted = document.scalar(*name);
  view.model = model.read(document, name);
  view.model_token = {static_cast<std::size_t>(quoted.data() - body.data()), quoted.size()};
  read_options(*fields, view);
  if (view.stream && !view.include_usage &&
      (endpoint == Endpoint::kChatCompletions || endpoint == Endpoint::kCompletions)) {
    view.asking_usage = asking_usage((*fields)[Field::kStreamOptions], body);
  }
  view.prompt = prompt.build(endpoint, document, *fields);
  view.prompt_token_ids = prompt.token_ids();
  if (!good()) {
    return bad_request(
        "the request body is not JSON: a string holds an unknown escape sequence; write a "
        "backslash "
        "as \\\\");
  }
  return view;
}

void RequestParser::Impl::read_options(const RequestFields& fields, RequestView& view) {
  view.stream = is_true(document, fields[Field::kStream]);
  const auto options = fields[Field::kStreamOptions];
  if (options && document.is_object(*options)) {
    view.include_usage = is_true(
        document, read_members(document, *options, kStreamOptions)[StreamOption::kIncludeUsage]);
  }
  for (const Field field :
       {Field::kMaxCompletionTokens, Field::kMaxOutputTokens, Field::kMaxTokens}) {
    if (view.max_output_tokens == 0) {
      view.max_output_tokens = whole_number<std::uint64_t>(document, fields[field]);
    }
  }
  const auto choices = whole_number<std::uint32_t>(document, fields[Field::kN]);
  view.choices = choices == 0 ? 1 : choices;
  view.session_id = session_id.read(document, fields[Field::kSessionId]);
  view.previous_response_id =
      previous_response_id.read(document, fields[Field::kPreviousResponseId]);
  view.cache_salt = cache_salt.read(document, fields[Field::kCacheSalt]);
}

/// The least change that does it. Of two equal keys, where one is null, the later counts.
BodyEdit RequestParser::Impl::asking_usage(std::optional<Token> options,
                                           std::string_view body) const {
  const auto place = [body](std::string_view part, std::size_t length) {
    return ByteRange{static_cast<std::size_t>(part.data() - body.data()), length};
  };
  const auto closing = [&](Token object) {
    const std::string_view raw = document.raw(object);
    return place(raw.substr(raw.size() - 1), 0);
  };
  if (!options) {
    return {closing(document.root()), R"(,"stream_options":{"include_usage":true})"};
  }
  if (!document.is_object(*options)) {
    return {};  // the engine will refuse it
  }
  const auto value = read_members(document, *options, kStreamOptions)[StreamOption::kIncludeUsage];
  if (value) {
    const std::string_view raw = document.raw(*value);
    return {place(raw, raw.size()), "true"};
  }
  bool is_empty = true;
  document.for_each_member(*options, [&](std::string_view, Token) { is_empty = false; });
  return {closing(*options), is_empty ? R"("include_usage":true)" : R"(,"include_usage":true)"};
}

RequestParser::RequestParser() : impl_(std::make_unique<Impl>()) {}
RequestParser::~RequestParser() = default;

Result<RequestView> RequestParser::parse(Endpoint endpoint, std::string_view content_type,
                                         std::string_view body) {
  impl_->clear();
  if (endpoint == Endpoint::kAudio && is_multipart_form(content_type)) {
    return read_form_request(impl_->form, content_type, body);
  }
  auto view = impl_->parse_json(endpoint, body);
  impl_->document.trim();  // no view points into it
  return view;
}

}  // namespace rolter::openai
