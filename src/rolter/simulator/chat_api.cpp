#include <utility>

#include "rolter/simulator/answer_format.h"
#include "rolter/simulator/conversation.h"
#include "rolter/simulator/handlers.h"
#include "rolter/simulator/usage.h"

namespace rolter::simulator {
namespace {

/// What is the same in every part of one answer.
struct ChatAnswer {
  std::string id;
  std::string model;
  std::uint64_t created = 0;
  GenerateOptions options;
  std::vector<TokenId> prompt;
};

class ChatFormat final : public AnswerFormat {
 public:
  ChatFormat(const EngineService& service, ChatAnswer answer)
      : service_(service), answer_(std::move(answer)) {}

  std::string whole(const Generation& generation) override;
  std::vector<std::string> begin(const Generation& generation) override;
  std::vector<std::string> token(const Generation& generation, std::size_t choice,
                                 std::size_t position) override;
  std::vector<std::string> finish(const Generation& generation) override;

 private:
  [[nodiscard]] JsonWriter chunk() const;
  void write_choice(JsonWriter& json, const Choice& choice, std::size_t index) const;
  void write_prompt_ids(JsonWriter& json) const;
  void write_running_usage(JsonWriter& json, const Generation& generation,
                           std::size_t tokens) const;
  [[nodiscard]] std::string end_chunk(const Generation& generation, std::size_t choice,
                                      TokenId token, bool has_token) const;
  [[nodiscard]] std::string fingerprint() const { return "vllm-0.32.0-sim"; }

  const EngineService& service_;
  ChatAnswer answer_;
};

JsonWriter ChatFormat::chunk() const {
  JsonWriter json;
  json.object().text("id", answer_.id).text("object", "chat.completion.chunk");
  json.number("created", answer_.created).text("model", answer_.model);
  return json;
}

void ChatFormat::write_prompt_ids(JsonWriter& json) const {
  if (answer_.options.return_token_ids) {
    json.tokens("prompt_token_ids", answer_.prompt);
  } else {
    json.null("prompt_token_ids");
  }
}

void ChatFormat::write_choice(JsonWriter& json, const Choice& choice, std::size_t index) const {
  json.object().number("index", index).object("message");
  json.text("role", "assistant").text("content", text_of(choice)).null("refusal");
  json.null("annotations").null("audio").null("function_call").null("reasoning").end();
  json.null("logprobs").text("finish_reason", finish_word(*choice.finish)).null("stop_reason");
  if (answer_.options.return_token_ids) {
    json.tokens("token_ids", choice.tokens);
  } else {
    json.null("token_ids");
  }
  json.null("routed_experts").end();
}

std::string ChatFormat::whole(const Generation& generation) {
  JsonWriter json;
  json.object().text("id", answer_.id).text("object", "chat.completion");
  json.number("created", answer_.created).text("model", answer_.model).array("choices");
  for (std::size_t i = 0; i < generation.choices().size(); ++i) {
    write_choice(json, generation.choices()[i], i);
  }
  json.end().null("service_tier").text("system_fingerprint", fingerprint());
  write_usage(json, usage_of(service_, generation, answer_.options.n), UsagePlace::kWhole);
  json.null("prompt_logprobs");
  write_prompt_ids(json);
  json.null("prompt_text").null("kv_transfer_params").null("ec_transfer_params").null("metrics");
  return json.end().take();
}

void ChatFormat::write_running_usage(JsonWriter& json, const Generation& generation,
                                     std::size_t tokens) const {
  if (answer_.options.continuous_usage) {
    Usage usage = usage_of(service_, generation, answer_.options.n);
    usage.tokens.completion = tokens;
    write_usage(json, usage, UsagePlace::kRunning);
  }
}

std::vector<std::string> ChatFormat::begin(const Generation& generation) {
  std::vector<std::string> events;
  for (std::size_t i = 0; i < generation.choices().size(); ++i) {
    JsonWriter json = chunk();
    json.array("choices").object().number("index", i);
    json.object("delta").text("role", "assistant").text("content", "").end();
    json.null("logprobs").null("finish_reason").end().end();
    write_running_usage(json, generation, 0);
    write_prompt_ids(json);
    json.null("prompt_text");
    events.push_back(data_event(json.end().take()));
    if (generation.choices()[i].finish == FinishReason::kAbort) {
      events.push_back(end_chunk(generation, i, 0, false));
    }
  }
  return events;
}

std::string ChatFormat::end_chunk(const Generation& generation, std::size_t choice, TokenId token,
                                  bool has_token) const {
  const Choice& ended = generation.choices()[choice];
  JsonWriter json = chunk();
  json.array("choices").object().number("index", choice);
  json.object("delta").text("content", has_token ? text_of_token(token) : "").end();
  json.null("logprobs").text("finish_reason", finish_word(*ended.finish)).null("stop_reason");
  if (answer_.options.return_token_ids && has_token) {
    json.tokens("token_ids", std::span(&token, 1));
  } else {
    json.null("token_ids");
  }
  json.end().end();
  write_running_usage(json, generation, ended.tokens.size());
  if (!answer_.options.include_usage) {
    json.text("system_fingerprint", fingerprint());
  }
  return data_event(json.end().take());
}

std::vector<std::string> ChatFormat::token(const Generation& generation, std::size_t choice,
                                           std::size_t position) {
  const Choice& from = generation.choices()[choice];
  const TokenId token = from.tokens[position];
  if (from.finish && position + 1 == from.tokens.size()) {
    return {end_chunk(generation, choice, token, true)};
  }
  JsonWriter json = chunk();
  json.array("choices").object().number("index", choice);
  json.object("delta").text("content", text_of_token(token)).end();
  json.null("logprobs").null("finish_reason");
  if (answer_.options.return_token_ids) {
    json.tokens("token_ids", std::span(&token, 1));
  } else {
    json.null("token_ids");
  }
  json.end().end();
  write_running_usage(json, generation, position + 1);
  return {data_event(json.end().take())};
}

std::vector<std::string> ChatFormat::finish(const Generation& generation) {
  std::vector<std::string> events;
  if (answer_.options.include_usage) {
    JsonWriter json = chunk();
    json.array("choices").end();
    write_usage(json, usage_of(service_, generation, answer_.options.n), UsagePlace::kLastEvent);
    json.text("system_fingerprint", fingerprint());
    events.push_back(data_event(json.end().take()));
  }
  events.push_back("data: [DONE]\n\n");
  return events;
}

Parsed<GenerationRequest> read_request(const Exchange& exchange) {
  const Parsed<RequestBody> body = read_json(exchange);
  if (!body) {
    return std::unexpected(body.error());
  }
  const Parsed<Conversation> conversation = conversation_of_chat(body->root());
  if (!conversation) {
    return std::unexpected(conversation.error());
  }
  Parsed<GenerateOptions> options = read_generate_options(body->root());
  if (!options) {
    return std::unexpected(std::move(options.error()));
  }
  GenerationRequest request;
  request.options = std::move(*options);
  request.prompts.push_back(
      {conversation->tokens(GenerationPrompt::kYes), conversation->last_text()});
  return request;
}

}  // namespace

http::Task<> handle_chat_completions(EngineService& service, Exchange& exchange) {
  Parsed<GenerationRequest> request = read_request(exchange);
  if (!request) {
    co_return co_await exchange.answer_fault(std::move(request.error()), FaultShape::kOpenAi);
  }
  Parsed<std::unique_ptr<Generation>> generation = service.start(*request, exchange.fields());
  if (!generation) {
    co_return co_await exchange.answer_fault(std::move(generation.error()), FaultShape::kOpenAi);
  }
  const GenerateOptions& options = request->options;
  const std::string_view callers_id =
      options.request_id.empty() ? exchange.fields().get("x-request-id") : options.request_id;
  ChatAnswer answer;
  answer.id = service.make_id("chatcmpl-", callers_id);
  answer.model = service.name_of(options.model);
  answer.created = service.unix_time();
  answer.options = options;
  answer.prompt = std::move(request->prompts.front().tokens);
  ChatFormat format(service, std::move(answer));
  co_await send_answer(service, exchange, **generation, format, options.stream);
}

}  // namespace rolter::simulator
