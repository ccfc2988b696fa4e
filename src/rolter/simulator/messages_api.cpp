#include <fmt/format.h>

#include <utility>

#include "rolter/simulator/answer_format.h"
#include "rolter/simulator/conversation.h"
#include "rolter/simulator/handlers.h"
#include "rolter/simulator/usage.h"

namespace rolter::simulator {
namespace {

/// vLLM's mapping; an aborted answer has no word of its own.
std::string_view stop_word(FinishReason reason) {
  return reason == FinishReason::kLength ? "max_tokens" : "end_turn";
}

/// Anthropic's shape: one choice, named events, cached tokens not counted as input.
class MessageFormat final : public AnswerFormat {
 public:
  MessageFormat(const EngineService& service, std::string id, std::string model)
      : service_(service), id_(std::move(id)), model_(std::move(model)) {}

  std::string whole(const Generation& generation) override {
    const Choice& choice = generation.choices().front();
    JsonWriter json;
    json.object().text("id", id_).text("type", "message").text("role", "assistant");
    json.array("content").object().text("type", "text").text("text", text_of(choice)).end().end();
    json.text("model", model_).text("stop_reason", stop_word(*choice.finish));
    write_usage_of(json, generation);
    return json.end().take();
  }

  /// The start says all of the prompt as input_tokens, cached or not, as 0.32 does.
  std::vector<std::string> begin(const Generation& generation) override {
    JsonWriter json;
    json.object().text("type", "message_start").object("message").text("id", id_);
    json.text("type", "message").text("role", "assistant").array("content").end();
    json.text("model", model_).null("stop_reason").null("stop_sequence").object("usage");
    json.number("input_tokens", generation.choices().front().prompt_tokens);
    json.number("output_tokens", 0).end().end();
    return {named_event("message_start", json.end().take()),
            named_event("content_block_start",
                        R"({"type":"content_block_start","content_block":{"type":"text",)"
                        R"("text":""},"index":0})")};
  }

  std::vector<std::string> token(const Generation& generation, std::size_t choice,
                                 std::size_t position) override {
    const std::string text = text_of_token(generation.choices()[choice].tokens[position]);
    if (text.empty()) {
      return {};
    }
    JsonWriter json;
    json.object().text("type", "content_block_delta").object("delta");
    json.text("type", "text_delta").text("text", text).end().number("index", 0);
    return {named_event("content_block_delta", json.end().take())};
  }

  std::vector<std::string> finish(const Generation& generation) override {
    JsonWriter json;
    json.object().text("type", "message_delta").object("delta");
    json.text("stop_reason", stop_word(*generation.choices().front().finish));
    json.null("stop_sequence").end();
    write_usage_of(json, generation);
    return {named_event("content_block_stop", R"({"type":"content_block_stop","index":0})"),
            named_event("message_delta", json.end().take()),
            named_event("message_stop", R"({"type":"message_stop"})")};
  }

 private:
  void write_usage_of(JsonWriter& json, const Generation& generation) const {
    const Usage usage = usage_of(service_, generation, 1);
    const std::size_t hit = usage.details ? usage.tokens.hit : 0;
    json.object("usage").number("input_tokens", usage.tokens.prompt - hit);
    json.number("output_tokens", usage.tokens.completion);
    if (usage.details) {
      json.number("cache_creation_input_tokens", usage.created_cache_tokens.value_or(0));
      json.number("cache_read_input_tokens", hit);
    }
    json.end();
  }

  const EngineService& service_;
  std::string id_;
  std::string model_;
};

Parsed<GenerationRequest> read_request(const RequestBody& body) {
  const Parsed<Conversation> conversation = conversation_of_messages(body.root());
  if (!conversation) {
    return std::unexpected(conversation.error());
  }
  if (!has_member(body.root(), "max_tokens")) {
    return std::unexpected(missing_field("max_tokens"));
  }
  Parsed<GenerateOptions> options = read_generate_options(body.root());
  if (!options) {
    return std::unexpected(std::move(options.error()));
  }
  options->n = 1;
  GenerationRequest request;
  request.options = std::move(*options);
  request.prompts.push_back(
      {conversation->tokens(GenerationPrompt::kYes), conversation->last_text()});
  return request;
}

}  // namespace

// Faults of the body's shape are OpenAI-shaped here too (0.32); the others are Anthropic's.
http::Task<> handle_messages(EngineService& service, Exchange& exchange) {
  Parsed<RequestBody> body = read_json(exchange);
  if (!body) {
    co_return co_await exchange.answer_fault(std::move(body.error()), FaultShape::kOpenAi);
  }
  Parsed<GenerationRequest> request = read_request(*body);
  if (!request) {
    co_return co_await exchange.answer_fault(std::move(request.error()), FaultShape::kOpenAi);
  }
  Parsed<std::unique_ptr<Generation>> generation = service.start(*request, exchange.fields());
  if (!generation) {
    co_return co_await exchange.answer_fault(std::move(generation.error()), FaultShape::kAnthropic);
  }
  const std::string_view callers_id = exchange.fields().get("x-request-id");
  MessageFormat format(service, service.make_id("chatcmpl-", callers_id),
                       service.name_of(request->options.model));
  co_await send_answer(service, exchange, **generation, format, request->options.stream);
}

http::Task<> handle_count_tokens(EngineService& service, Exchange& exchange) {
  Parsed<RequestBody> body = read_json(exchange);
  if (!body) {
    co_return co_await exchange.answer_fault(std::move(body.error()), FaultShape::kOpenAi);
  }
  if (Parsed<void> known = service.check_model(text_member(body->root(), "model")); !known) {
    co_return co_await exchange.answer_fault(std::move(known.error()), FaultShape::kAnthropic);
  }
  Parsed<Conversation> conversation = conversation_of_messages(body->root());
  if (!conversation) {
    co_return co_await exchange.answer_fault(std::move(conversation.error()), FaultShape::kOpenAi);
  }
  const std::size_t count = conversation->tokens(GenerationPrompt::kYes).size();
  co_await exchange.answer_json(
      200,
      fmt::format(R"({{"input_tokens":{0},"context_management":{{"original_input_tokens":{0}}}}})",
                  count));
}

}  // namespace rolter::simulator
