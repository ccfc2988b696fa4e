#include <utility>

#include "rolter/simulator/answer_format.h"
#include "rolter/simulator/handlers.h"
#include "rolter/simulator/token_prompt.h"
#include "rolter/simulator/usage.h"

namespace rolter::simulator {
namespace {

constexpr std::size_t kDefaultMaxTokens = 16;  // OpenAI's, and vLLM's
constexpr std::string_view kFingerprint = "vllm-0.32.0-sim";

class CompletionFormat final : public AnswerFormat {
 public:
  CompletionFormat(EngineService& service, const GenerationRequest& request, std::string id)
      : service_(service), request_(request), id_(std::move(id)), created_(service.unix_time()) {}

  std::string whole(const Generation& generation) override;
  std::vector<std::string> begin(const Generation& generation) override;
  std::vector<std::string> token(const Generation& generation, std::size_t choice,
                                 std::size_t position) override;
  std::vector<std::string> finish(const Generation& generation) override;

 private:
  [[nodiscard]] JsonWriter start() const;
  [[nodiscard]] Usage usage(const Generation& generation) const;
  void write_ids(JsonWriter& json, std::string_view key, std::span<const TokenId> ids) const;
  [[nodiscard]] std::string event(const Generation& generation, std::size_t choice,
                                  std::span<const TokenId> tokens, bool first, bool last) const;

  const EngineService& service_;
  const GenerationRequest& request_;
  std::string id_;
  std::uint64_t created_;
};

JsonWriter CompletionFormat::start() const {
  JsonWriter json;
  json.object().text("id", id_).text("object", "text_completion").number("created", created_);
  json.text("model", service_.name_of(request_.options.model));
  return json;
}

/// vLLM 0.32 tells created_cache_tokens in chat only.
Usage CompletionFormat::usage(const Generation& generation) const {
  Usage usage = usage_of(service_, generation, request_.options.n);
  usage.created_cache_tokens.reset();
  return usage;
}

void CompletionFormat::write_ids(JsonWriter& json, std::string_view key,
                                 std::span<const TokenId> ids) const {
  if (request_.options.return_token_ids) {
    json.tokens(key, ids);
  } else {
    json.null(key);
  }
}

std::string CompletionFormat::whole(const Generation& generation) {
  JsonWriter json = start();
  json.array("choices");
  for (std::size_t i = 0; i < generation.choices().size(); ++i) {
    const Choice& choice = generation.choices()[i];
    json.object().number("index", i).text("text", text_of(choice)).null("logprobs");
    json.text("finish_reason", finish_word(*choice.finish)).null("stop_reason");
    write_ids(json, "token_ids", choice.tokens);
    json.null("prompt_logprobs");
    write_ids(json, "prompt_token_ids", request_.prompts[i / request_.options.n].tokens);
    json.null("routed_experts").end();
  }
  json.end().null("service_tier").text("system_fingerprint", kFingerprint);
  write_usage(json, usage(generation), UsagePlace::kWhole);
  json.null("kv_transfer_params").null("ec_transfer_params").null("metrics");
  return json.end().take();
}

std::vector<std::string> CompletionFormat::begin(const Generation& generation) {
  std::vector<std::string> events;
  for (std::size_t i = 0; i < generation.choices().size(); ++i) {
    if (generation.choices()[i].finish == FinishReason::kAbort) {
      events.push_back(event(generation, i, {}, true, true));
    }
  }
  return events;
}

std::string CompletionFormat::event(const Generation& generation, std::size_t choice,
                                    std::span<const TokenId> tokens, bool first, bool last) const {
  const Choice& from = generation.choices()[choice];
  std::string text;
  for (const TokenId token : tokens) {
    text += text_of_token(token);
  }
  JsonWriter json = start();
  json.array("choices").object().number("index", choice).text("text", text).null("logprobs");
  if (last) {
    json.text("finish_reason", finish_word(*from.finish));
  } else {
    json.null("finish_reason");
  }
  json.null("stop_reason");
  if (first) {
    write_ids(json, "prompt_token_ids", request_.prompts[choice / request_.options.n].tokens);
  } else {
    json.null("prompt_token_ids");
  }
  write_ids(json, "token_ids", tokens);
  json.end().end();
  if (request_.options.continuous_usage) {
    write_usage(json, usage(generation), UsagePlace::kRunning);
  }
  if (last && !request_.options.include_usage) {
    json.text("system_fingerprint", kFingerprint);
  }
  return data_event(json.end().take());
}

std::vector<std::string> CompletionFormat::token(const Generation& generation, std::size_t choice,
                                                 std::size_t position) {
  const Choice& from = generation.choices()[choice];
  const bool last = from.finish && position + 1 == from.tokens.size();
  return {
      event(generation, choice, std::span(from.tokens).subspan(position, 1), position == 0, last)};
}

std::vector<std::string> CompletionFormat::finish(const Generation& generation) {
  std::vector<std::string> events;
  if (request_.options.include_usage) {
    JsonWriter json = start();
    json.array("choices").end();
    write_usage(json, usage(generation), UsagePlace::kLastEvent);
    json.text("system_fingerprint", kFingerprint);
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
  Parsed<std::vector<GenerationRequest::Prompt>> prompts = read_prompts(body->root(), "prompt");
  if (!prompts) {
    return std::unexpected(std::move(prompts.error()));
  }
  Parsed<GenerateOptions> options = read_generate_options(body->root());
  if (!options) {
    return std::unexpected(std::move(options.error()));
  }
  return GenerationRequest{std::move(*options), std::move(*prompts), kDefaultMaxTokens};
}

}  // namespace

http::Task<> handle_completions(EngineService& service, Exchange& exchange) {
  Parsed<GenerationRequest> request = read_request(exchange);
  if (!request) {
    co_return co_await exchange.answer_fault(std::move(request.error()), FaultShape::kOpenAi);
  }
  Parsed<std::unique_ptr<Generation>> generation = service.start(*request, exchange.fields());
  if (!generation) {
    co_return co_await exchange.answer_fault(std::move(generation.error()), FaultShape::kOpenAi);
  }
  const std::string_view callers_id = request->options.request_id.empty()
                                          ? exchange.fields().get("x-request-id")
                                          : request->options.request_id;
  CompletionFormat format(service, *request, service.make_id("cmpl-", callers_id));
  co_await send_answer(service, exchange, **generation, format, request->options.stream);
}

}  // namespace rolter::simulator
