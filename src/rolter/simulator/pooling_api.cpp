// Embeddings, rerank and score: requests that are computed like a prefill and sample nothing.

#include <simdjson.h>

#include <algorithm>
#include <utility>

#include "rolter/simulator/embedding.h"
#include "rolter/simulator/handlers.h"
#include "rolter/simulator/json_writer.h"
#include "rolter/simulator/token_prompt.h"
#include "rolter/simulator/tokenizer.h"

namespace rolter::simulator {
namespace {

namespace dom = simdjson::dom;

constexpr std::size_t kDefaultDimensions = 64;
constexpr std::int64_t kMostDimensions = 16'384;

/// Lets the engine compute the prompts. False when the exchange has been answered (a fault) or the
/// client has left.
http::Task<bool> compute(EngineService& service, Exchange& exchange, GenerationRequest request) {
  request.options.max_tokens = 1;
  request.options.n = 1;
  Parsed<std::unique_ptr<Generation>> started = service.start(request, exchange.fields());
  if (!started) {
    co_await exchange.answer_fault(std::move(started.error()), FaultShape::kOpenAi);
    co_return false;
  }
  Generation& generation = **started;
  exchange.watch_client([&generation] { generation.cancel(); });
  while (!generation.done() && !generation.cancelled() && !generation.engine_died()) {
    co_await generation.wait();
  }
  exchange.unwatch_client();
  if (generation.engine_died()) {
    co_await exchange.answer_fault(engine_dead(), FaultShape::kOpenAi);
  }
  co_return generation.done() && !generation.cancelled();
}

std::size_t token_count(const std::vector<GenerationRequest::Prompt>& prompts) {
  std::size_t count = 0;
  for (const GenerationRequest::Prompt& prompt : prompts) {
    count += prompt.tokens.size();
  }
  return count;
}

void write_pooling_usage(JsonWriter& json, std::size_t tokens) {
  json.object("usage").number("prompt_tokens", tokens).number("total_tokens", tokens);
  json.number("completion_tokens", 0).null("prompt_tokens_details").end();
}

/// A member that is a string, an object with "text", or a list of these.
std::vector<std::string> texts_of(const JsonValue& body, std::string_view key) {
  std::vector<std::string> texts;
  const auto add = [&texts](const dom::element& value) {
    std::string_view text;
    if (value.get(text) == simdjson::SUCCESS) {
      texts.emplace_back(text);
    } else if (value.is_object()) {
      texts.push_back(text_member(value, "text"));
    }
  };
  dom::element value;
  if (body.at_key(key).get(value) != simdjson::SUCCESS) {
    return texts;
  }
  if (!value.is_array()) {
    add(value);
    return texts;
  }
  for (const dom::element each : dom::array(value)) {
    add(each);
  }
  return texts;
}

/// One prompt per pair, the query first, as a cross-encoder reads it.
GenerationRequest pair_request(const std::string& model, const std::vector<std::string>& queries,
                               const std::vector<std::string>& documents) {
  GenerationRequest request;
  request.options.model = model;
  for (std::size_t i = 0; i < documents.size(); ++i) {
    const std::string text = queries[queries.size() == 1 ? 0 : i] + "\n" + documents[i];
    request.prompts.push_back({tokenize(text), text});
  }
  return request;
}

/// 0 .. 1, the same for the same pair.
double relevance(const std::string& query, const std::string& document) {
  return (cosine(embed(query, kDefaultDimensions), embed(document, kDefaultDimensions)) + 1) / 2;
}

}  // namespace

http::Task<> handle_embeddings(EngineService& service, Exchange& exchange) {
  Parsed<RequestBody> body = read_json(exchange);
  if (!body) {
    co_return co_await exchange.answer_fault(std::move(body.error()), FaultShape::kOpenAi);
  }
  GenerationRequest request;
  Parsed<std::vector<GenerationRequest::Prompt>> prompts = read_prompts(body->root(), "input");
  if (!prompts) {
    co_return co_await exchange.answer_fault(std::move(prompts.error()), FaultShape::kOpenAi);
  }
  request.prompts = std::move(*prompts);
  request.options.model = text_member(body->root(), "model");
  const std::int64_t wanted = integer_member(body->root(), "dimensions").value_or(0);
  const auto dimensions = static_cast<std::size_t>(wanted > 0 ? std::min(wanted, kMostDimensions)
                                                              : std::int64_t{kDefaultDimensions});
  const bool base64 = text_member(body->root(), "encoding_format") == "base64";
  if (!co_await compute(service, exchange, request)) {
    co_return;
  }
  JsonWriter json;
  json.object().text("id", service.make_id("embd-")).text("object", "list");
  json.number("created", service.unix_time());
  json.text("model", service.name_of(request.options.model)).array("data");
  for (std::size_t i = 0; i < request.prompts.size(); ++i) {
    const std::vector<float> vector = embed(request.prompts[i].echo, dimensions);
    json.object().number("index", i).text("object", "embedding");
    if (base64) {
      json.text("embedding", to_base64(vector)).end();
      continue;
    }
    json.array("embedding");
    for (const float value : vector) {
      json.decimal({}, static_cast<double>(value));
    }
    json.end().end();
  }
  json.end();
  write_pooling_usage(json, token_count(request.prompts));
  co_await exchange.answer_json(200, json.end().take());
}

http::Task<> handle_rerank(EngineService& service, Exchange& exchange) {
  Parsed<RequestBody> body = read_json(exchange);
  if (!body) {
    co_return co_await exchange.answer_fault(std::move(body.error()), FaultShape::kOpenAi);
  }
  const std::vector<std::string> query = texts_of(body->root(), "query");
  const std::vector<std::string> documents = texts_of(body->root(), "documents");
  if (query.size() != 1 || documents.empty()) {
    co_return co_await exchange.answer_fault(
        missing_field(query.size() != 1 ? "query" : "documents"), FaultShape::kOpenAi);
  }
  const GenerationRequest request =
      pair_request(text_member(body->root(), "model"), query, documents);
  if (!co_await compute(service, exchange, request)) {
    co_return;
  }
  std::vector<std::pair<double, std::size_t>> ranked;
  for (std::size_t i = 0; i < documents.size(); ++i) {
    ranked.emplace_back(relevance(query[0], documents[i]), i);
  }
  std::ranges::sort(ranked, [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  const std::int64_t top = integer_member(body->root(), "top_n").value_or(0);
  if (top > 0 && static_cast<std::size_t>(top) < ranked.size()) {
    ranked.resize(static_cast<std::size_t>(top));
  }
  JsonWriter json;
  json.object().text("id", service.make_id("rerank-"));
  json.text("model", service.name_of(request.options.model)).object("usage");
  const std::size_t tokens = token_count(request.prompts);
  json.number("prompt_tokens", tokens).number("total_tokens", tokens).end().array("results");
  for (const auto& [score, index] : ranked) {
    json.object().number("index", index).object("document").text("text", documents[index]);
    json.null("multi_modal").end().decimal("relevance_score", score).end();
  }
  co_await exchange.answer_json(200, json.end().end().take());
}

http::Task<> handle_score(EngineService& service, Exchange& exchange) {
  Parsed<RequestBody> body = read_json(exchange);
  if (!body) {
    co_return co_await exchange.answer_fault(std::move(body.error()), FaultShape::kOpenAi);
  }
  const bool old_names = has_member(body->root(), "text_1");
  const auto queries = texts_of(body->root(), old_names ? "text_1" : "queries");
  const auto documents = texts_of(body->root(), old_names ? "text_2" : "documents");
  if (queries.empty() || documents.empty() ||
      (queries.size() != 1 && queries.size() != documents.size())) {
    co_return co_await exchange.answer_fault(
        invalid_field("queries", "one for all documents, or one for each"), FaultShape::kOpenAi);
  }
  const GenerationRequest request =
      pair_request(text_member(body->root(), "model"), queries, documents);
  if (!co_await compute(service, exchange, request)) {
    co_return;
  }
  JsonWriter json;
  json.object().text("id", service.make_id("score-")).text("object", "list");
  json.number("created", service.unix_time());
  json.text("model", service.name_of(request.options.model)).array("data");
  for (std::size_t i = 0; i < documents.size(); ++i) {
    json.object().number("index", i).text("object", "score");
    json.decimal("score", relevance(queries[queries.size() == 1 ? 0 : i], documents[i])).end();
  }
  json.end();
  write_pooling_usage(json, token_count(request.prompts));
  co_await exchange.answer_json(200, json.end().take());
}

}  // namespace rolter::simulator
