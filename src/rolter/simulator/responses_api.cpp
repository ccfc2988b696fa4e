#include <algorithm>
#include <utility>

#include "rolter/simulator/answer_format.h"
#include "rolter/simulator/conversation.h"
#include "rolter/simulator/handlers.h"
#include "rolter/simulator/usage.h"

namespace rolter::simulator {
namespace {

struct ResponseRequest {
  GenerationRequest generation;
  std::vector<Turn> turns;  // the whole conversation, earlier responses included
  std::string instructions;
  std::string previous_id;
  bool has_tools = false;
};

/// The /v1/responses shape: one message of one text part, numbered events.
class ResponseFormat final : public AnswerFormat {
 public:
  ResponseFormat(EngineService& service, const ResponseRequest& request)
      : service_(service),
        request_(request),
        id_(service.make_id("resp_", request.generation.options.request_id)),
        message_id_(service.make_id("msg_")),
        created_(service.unix_time()) {}

  std::string whole(const Generation& generation) override;
  std::vector<std::string> begin(const Generation& generation) override;
  std::vector<std::string> token(const Generation& generation, std::size_t choice,
                                 std::size_t position) override;
  std::vector<std::string> finish(const Generation& generation) override;

 private:
  void write_response(JsonWriter& json, const Generation* ended) const;
  void write_message(JsonWriter& json, const std::string* text) const;
  void write_usage_of(JsonWriter& json, const Generation& generation) const;
  [[nodiscard]] std::uint64_t max_output_tokens() const;
  void remember(const Generation& generation);
  [[nodiscard]] std::string event(std::string_view type, JsonWriter json,
                                  const std::string* text = nullptr);
  [[nodiscard]] std::string response_event(std::string_view type, const Generation* ended);
  [[nodiscard]] std::string item_event(std::string_view type, const std::string* text);
  [[nodiscard]] std::string part_event(std::string_view type, std::string_view part);

  EngineService& service_;
  const ResponseRequest& request_;
  std::string id_;
  std::string message_id_;
  std::uint64_t created_;
  std::uint64_t next_number_ = 0;
};

void write_part(JsonWriter& json, std::string_view key, std::string_view text) {
  json.object(key).array("annotations").end().text("text", text).text("type", "output_text");
  json.null("logprobs").end();
}

constexpr std::string_view kEmptyPart =
    R"({"annotations":[],"text":"","type":"output_text","logprobs":[]})";

/// `text` null: the message that is still to be written.
void ResponseFormat::write_message(JsonWriter& json, const std::string* text) const {
  json.text("id", message_id_).array("content");
  if (text != nullptr) {
    write_part(json, {}, *text);
  }
  json.end().text("role", "assistant");
  json.text("status", text != nullptr ? "completed" : "in_progress");
  json.text("type", "message").null("phase");
}

void ResponseFormat::write_usage_of(JsonWriter& json, const Generation& generation) const {
  const TokenCounts tokens = usage_of(service_, generation, 1).tokens;
  json.object("usage").number("input_tokens", tokens.prompt).object("input_tokens_details");
  json.number("cached_tokens", service_.options().prompt_tokens_details ? tokens.hit : 0);
  json.number("cache_write_tokens", 0).array("input_tokens_per_turn").end();
  json.array("cached_tokens_per_turn").end().end();
  json.number("output_tokens", tokens.completion).object("output_tokens_details");
  json.number("reasoning_tokens", 0).number("tool_output_tokens", 0);
  json.array("output_tokens_per_turn").end().array("tool_output_tokens_per_turn").end().end();
  json.number("total_tokens", tokens.prompt + tokens.completion).end();
}

/// The members of a response; `ended` null while it is in progress.
void ResponseFormat::write_response(JsonWriter& json, const Generation* ended) const {
  const bool cut = ended != nullptr && ended->choices().front().finish != FinishReason::kStop;
  json.text("id", id_).number("created_at", created_);
  if (cut) {
    json.object("incomplete_details").text("reason", "max_output_tokens").end();
  } else {
    json.null("incomplete_details");
  }
  if (request_.instructions.empty()) {
    json.null("instructions");
  } else {
    json.text("instructions", request_.instructions);
  }
  json.null("metadata").text("model", service_.name_of(request_.generation.options.model));
  json.text("object", "response").array("output");
  if (ended != nullptr) {
    const std::string text = text_of(ended->choices().front());
    json.object();
    write_message(json, &text);
    json.end();
  }
  json.end().flag("parallel_tool_calls", true).decimal("temperature", 1.0);
  json.text("tool_choice", request_.has_tools ? "auto" : "none")
      .array("tools")
      .end()
      .decimal("top_p", 1.0);
  json.flag("background", false).number("max_output_tokens", max_output_tokens());
  json.null("max_tool_calls");
  if (request_.previous_id.empty()) {
    json.null("previous_response_id");
  } else {
    json.text("previous_response_id", request_.previous_id);
  }
  json.null("prompt").null("reasoning").text("service_tier", "auto");
  json.text("status", ended == nullptr ? "in_progress" : cut ? "incomplete" : "completed");
  json.null("text").null("top_logprobs").text("truncation", "disabled");
  if (ended != nullptr) {
    write_usage_of(json, *ended);
  } else {
    json.null("usage");
  }
  json.null("user").decimal("presence_penalty", 0.0).decimal("frequency_penalty", 0.0);
  json.null("kv_transfer_params").null("ec_transfer_params").null("input_messages");
  json.null("output_messages");
}

/// Without a limit vLLM says what the context leaves.
std::uint64_t ResponseFormat::max_output_tokens() const {
  const std::size_t left =
      service_.context_limit() - request_.generation.prompts.front().tokens.size();
  const auto asked = static_cast<std::size_t>(
      request_.generation.options.max_tokens.value_or(static_cast<std::int64_t>(left)));
  return std::min(asked, left);
}

void ResponseFormat::remember(const Generation& generation) {
  std::vector<Turn> turns = request_.turns;
  turns.push_back({"assistant", text_of(generation.choices().front())});
  service_.responses().put(id_, std::move(turns));
}

std::string ResponseFormat::whole(const Generation& generation) {
  remember(generation);
  JsonWriter json;
  json.object();
  write_response(json, &generation);
  return json.end().take();
}

/// Events have their members in alphabetical order, the number and the type at the end.
std::string ResponseFormat::event(std::string_view type, JsonWriter json, const std::string* text) {
  json.number("sequence_number", next_number_++);
  if (text != nullptr) {
    json.text("text", *text);
  }
  json.text("type", type);
  return named_event(type, json.end().take());
}

std::string ResponseFormat::response_event(std::string_view type, const Generation* ended) {
  JsonWriter json;
  json.object().object("response");
  write_response(json, ended);
  json.end();
  return event(type, std::move(json));
}

std::string ResponseFormat::item_event(std::string_view type, const std::string* text) {
  JsonWriter json;
  json.object().object("item");
  write_message(json, text);
  json.end().number("output_index", 0);
  return event(type, std::move(json));
}

std::string ResponseFormat::part_event(std::string_view type, std::string_view part) {
  JsonWriter json;
  json.object().number("content_index", 0).text("item_id", message_id_);
  json.number("output_index", 0).raw("part", part);
  return event(type, std::move(json));
}

std::vector<std::string> ResponseFormat::begin(const Generation&) {
  return {response_event("response.created", nullptr),
          response_event("response.in_progress", nullptr),
          item_event("response.output_item.added", nullptr),
          part_event("response.content_part.added", kEmptyPart)};
}

std::vector<std::string> ResponseFormat::token(const Generation& generation, std::size_t choice,
                                               std::size_t position) {
  const std::string text = text_of_token(generation.choices()[choice].tokens[position]);
  if (text.empty()) {
    return {};
  }
  JsonWriter json;
  json.object().number("content_index", 0).text("delta", text).text("item_id", message_id_);
  json.array("logprobs").end().number("output_index", 0);
  return {event("response.output_text.delta", std::move(json))};
}

std::vector<std::string> ResponseFormat::finish(const Generation& generation) {
  remember(generation);
  const std::string text = text_of(generation.choices().front());
  JsonWriter done;
  done.object().number("content_index", 0).text("item_id", message_id_);
  done.array("logprobs").end().number("output_index", 0);
  std::vector<std::string> events;
  events.push_back(event("response.output_text.done", std::move(done), &text));
  JsonWriter part;
  write_part(part, {}, text);
  events.push_back(part_event("response.content_part.done", part.take()));
  events.push_back(item_event("response.output_item.done", &text));
  events.push_back(response_event("response.completed", &generation));
  return events;
}

Parsed<ResponseRequest> read_request(EngineService& service, const Exchange& exchange) {
  const Parsed<RequestBody> body = read_json(exchange);
  if (!body) {
    return std::unexpected(body.error());
  }
  Parsed<Conversation> conversation = conversation_of_responses(body->root());
  if (!conversation) {
    return std::unexpected(std::move(conversation.error()));
  }
  Parsed<GenerateOptions> options = read_generate_options(body->root());
  if (!options) {
    return std::unexpected(std::move(options.error()));
  }
  ResponseRequest request;
  request.instructions = text_member(body->root(), "instructions");
  request.previous_id = text_member(body->root(), "previous_response_id");
  if (!request.previous_id.empty()) {
    const std::vector<Turn>* earlier = service.responses().find(request.previous_id);
    if (earlier == nullptr) {
      return std::unexpected(ApiFault{404, "invalid_request_error",
                                      "Response with id '" + request.previous_id + "' not found.",
                                      "response_id"});
    }
    conversation->turns.insert(conversation->turns.begin(), earlier->begin(), earlier->end());
  }
  options->n = 1;
  request.has_tools = !conversation->tools.empty();
  request.generation.options = std::move(*options);
  request.generation.prompts.push_back(
      {conversation->tokens(GenerationPrompt::kYes), conversation->last_text()});
  request.turns = std::move(conversation->turns);
  return request;
}

}  // namespace

http::Task<> handle_responses(EngineService& service, Exchange& exchange) {
  Parsed<ResponseRequest> request = read_request(service, exchange);
  if (!request) {
    co_return co_await exchange.answer_fault(std::move(request.error()), FaultShape::kOpenAi);
  }
  Parsed<std::unique_ptr<Generation>> generation =
      service.start(request->generation, exchange.fields());
  if (!generation) {
    co_return co_await exchange.answer_fault(std::move(generation.error()), FaultShape::kOpenAi);
  }
  ResponseFormat format(service, *request);
  co_await send_answer(service, exchange, **generation, format, request->generation.options.stream);
}

}  // namespace rolter::simulator
