#include <simdjson.h>

#include <utility>

#include "rolter/simulator/conversation.h"
#include "rolter/simulator/handlers.h"
#include "rolter/simulator/json_writer.h"
#include "rolter/simulator/tokenizer.h"

namespace rolter::simulator {
namespace {

namespace dom = simdjson::dom;

/// What the engine would store for the body: the chat form takes messages and tools.
Parsed<std::vector<TokenId>> tokens_of(const JsonValue& body) {
  if (!has_member(body, "messages")) {
    if (!has_member(body, "prompt")) {
      return std::unexpected(missing_field("prompt"));
    }
    return tokenize(text_member(body, "prompt"));
  }
  const Parsed<Conversation> conversation = conversation_of_chat(body);
  if (!conversation) {
    return std::unexpected(conversation.error());
  }
  const bool generate =
      !has_member(body, "add_generation_prompt") || flag_member(body, "add_generation_prompt");
  return conversation->tokens(generate ? GenerationPrompt::kYes : GenerationPrompt::kNo);
}

}  // namespace

http::Task<> handle_tokenize(EngineService& service, Exchange& exchange) {
  Parsed<RequestBody> body = read_json(exchange);
  if (!body) {
    co_return co_await exchange.answer_fault(std::move(body.error()), FaultShape::kOpenAi);
  }
  if (Parsed<void> known = service.check_model(text_member(body->root(), "model")); !known) {
    co_return co_await exchange.answer_fault(std::move(known.error()), FaultShape::kOpenAi);
  }
  Parsed<std::vector<TokenId>> tokens = tokens_of(body->root());
  if (!tokens) {
    co_return co_await exchange.answer_fault(std::move(tokens.error()), FaultShape::kOpenAi);
  }
  JsonWriter json;
  json.object().number("count", tokens->size()).number("max_model_len", service.context_limit());
  json.tokens("tokens", *tokens);
  if (flag_member(body->root(), "return_token_strs")) {
    json.array("token_strs");
    for (const TokenId token : *tokens) {
      json.text({}, detokenize(std::span(&token, 1)));
    }
    json.end();
  } else {
    json.null("token_strs");
  }
  co_await exchange.answer_json(200, json.end().take());
}

http::Task<> handle_detokenize(EngineService& service, Exchange& exchange) {
  Parsed<RequestBody> body = read_json(exchange);
  if (!body) {
    co_return co_await exchange.answer_fault(std::move(body.error()), FaultShape::kOpenAi);
  }
  if (Parsed<void> known = service.check_model(text_member(body->root(), "model")); !known) {
    co_return co_await exchange.answer_fault(std::move(known.error()), FaultShape::kOpenAi);
  }
  dom::array ids;
  if (body->root()["tokens"].get(ids) != simdjson::SUCCESS) {
    co_return co_await exchange.answer_fault(missing_field("tokens"), FaultShape::kOpenAi);
  }
  std::string text;
  for (const dom::element id : ids) {
    std::uint64_t value = 0;
    if (id.get(value) == simdjson::SUCCESS && value < kVocabularySize) {
      detokenize(static_cast<TokenId>(value), text);
    }
  }
  JsonWriter json;
  json.object().text("prompt", text);
  co_await exchange.answer_json(200, json.end().take());
}

}  // namespace rolter::simulator
