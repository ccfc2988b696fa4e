#include <array>
#include <utility>

#include "rolter/openai/key_table.h"
#include "rolter/openai/request_view.h"

namespace rolter::openai {
namespace {

constexpr KeyTable kPaths(std::to_array<std::pair<std::string_view, Endpoint>>({
    {"/v1/chat/completions", Endpoint::kChatCompletions},
    {"/v1/chat/completions/batch", Endpoint::kChatCompletions},
    {"/v1/completions", Endpoint::kCompletions},
    {"/v1/responses", Endpoint::kResponses},
    {"/v1/messages", Endpoint::kMessages},
    {"/v1/messages/count_tokens", Endpoint::kMessagesCountTokens},
    {"/v1/embeddings", Endpoint::kEmbeddings},
    {"/v2/embed", Endpoint::kEmbeddings},
    {"/pooling", Endpoint::kPooling},
    {"/classify", Endpoint::kPooling},
    {"/rerank", Endpoint::kRerank},
    {"/v1/rerank", Endpoint::kRerank},
    {"/v2/rerank", Endpoint::kRerank},
    {"/score", Endpoint::kScore},
    {"/v1/score", Endpoint::kScore},
    {"/v1/audio/transcriptions", Endpoint::kAudio},
    {"/v1/audio/translations", Endpoint::kAudio},
    {"/v1/audio/speech", Endpoint::kAudio},
    {"/tokenize", Endpoint::kTokenize},
    {"/v1/tokenize", Endpoint::kTokenize},
    {"/detokenize", Endpoint::kDetokenize},
    {"/v1/detokenize", Endpoint::kDetokenize},
}));

}  // namespace

std::optional<Endpoint> endpoint_of_path(std::string_view path) {
  return kPaths.find(path);
}

ApiShape shape_of(Endpoint endpoint) {
  const bool anthropic =
      endpoint == Endpoint::kMessages || endpoint == Endpoint::kMessagesCountTokens;
  return anthropic ? ApiShape::kAnthropic : ApiShape::kOpenAi;
}

bool streams_events(Endpoint endpoint) {
  return endpoint == Endpoint::kChatCompletions || endpoint == Endpoint::kCompletions ||
         endpoint == Endpoint::kResponses || endpoint == Endpoint::kMessages;
}

std::string_view to_string(Endpoint endpoint) {
  switch (endpoint) {
    case Endpoint::kChatCompletions:
      return "chat_completions";
    case Endpoint::kCompletions:
      return "completions";
    case Endpoint::kResponses:
      return "responses";
    case Endpoint::kMessages:
      return "messages";
    case Endpoint::kMessagesCountTokens:
      return "messages_count_tokens";
    case Endpoint::kEmbeddings:
      return "embeddings";
    case Endpoint::kPooling:
      return "pooling";
    case Endpoint::kRerank:
      return "rerank";
    case Endpoint::kScore:
      return "score";
    case Endpoint::kAudio:
      return "audio";
    case Endpoint::kTokenize:
      return "tokenize";
    case Endpoint::kDetokenize:
      return "detokenize";
  }
  return "unknown";
}

}  // namespace rolter::openai
