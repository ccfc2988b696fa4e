#include <fmt/format.h>

#include <utility>

#include "rolter/simulator/answer_format.h"
#include "rolter/simulator/handlers.h"
#include "rolter/simulator/multipart.h"
#include "rolter/simulator/reply.h"
#include "rolter/simulator/tokenizer.h"
#include "rolter/simulator/usage.h"

namespace rolter::simulator {
namespace {

constexpr std::size_t kBytesPerSecond = 32'000;  // 16 kHz, 16 bits: what the duration is guessed by
constexpr std::size_t kMaxTokens = 200;

/// The transcript is the reply to a digest of the file: "<digest> words ...".
class TranscriptFormat final : public AnswerFormat {
 public:
  TranscriptFormat(EngineService& service, std::string model, std::size_t file_bytes)
      : service_(service),
        id_(service.make_id("trsc-")),
        model_(std::move(model)),
        seconds_((file_bytes + kBytesPerSecond - 1) / kBytesPerSecond) {}

  std::string whole(const Generation& generation) override {
    JsonWriter json;
    json.object().text("text", text_of(generation.choices().front())).object("usage");
    json.text("type", "duration").number("seconds", seconds_).end();
    return json.end().take();
  }
  std::vector<std::string> begin(const Generation&) override { return {}; }
  std::vector<std::string> token(const Generation& generation, std::size_t choice,
                                 std::size_t position) override {
    const Choice& from = generation.choices()[choice];
    JsonWriter json;
    json.object().text("id", id_).text("object", "transcription.chunk");
    json.number("created", service_.unix_time()).text("model", model_).array("choices").object();
    json.object("delta").text("content", text_of_token(from.tokens[position])).end();
    if (from.finish && position + 1 == from.tokens.size()) {
      json.text("finish_reason", finish_word(*from.finish)).null("stop_reason");
    } else {
      json.null("finish_reason").null("stop_reason");
    }
    return {data_event(json.end().end().end().take())};
  }
  std::vector<std::string> finish(const Generation&) override { return {"data: [DONE]\n\n"}; }

 private:
  const EngineService& service_;
  std::string id_;
  std::string model_;
  std::size_t seconds_;
};

std::string_view field(const std::vector<FormPart>& parts, std::string_view name) {
  for (const FormPart& part : parts) {
    if (part.name == name) {
      return part.content;
    }
  }
  return {};
}

}  // namespace

http::Task<> handle_transcriptions(EngineService& service, Exchange& exchange) {
  const auto parts = parse_multipart(exchange.fields().get("content-type"), exchange.body());
  if (!parts) {
    co_return co_await exchange.answer_fault(
        invalid_field("file", "the body must be multipart/form-data"), FaultShape::kOpenAi);
  }
  const std::string_view file = field(*parts, "file");
  if (file.empty()) {
    co_return co_await exchange.answer_fault(missing_field("file"), FaultShape::kOpenAi);
  }
  const std::string digest = digest_letters(file);
  GenerationRequest request;
  request.options.model = std::string(field(*parts, "model"));
  request.options.max_tokens = kMaxTokens;
  request.prompts.push_back(
      {tokenize(fmt::format("{} {}", digest, field(*parts, "prompt"))), std::string(file)});
  Parsed<std::unique_ptr<Generation>> generation = service.start(request, exchange.fields());
  if (!generation) {
    co_return co_await exchange.answer_fault(std::move(generation.error()), FaultShape::kOpenAi);
  }
  TranscriptFormat format(service, service.name_of(request.options.model), file.size());
  co_await send_answer(service, exchange, **generation, format, field(*parts, "stream") == "true");
}

}  // namespace rolter::simulator
