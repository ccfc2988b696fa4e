#include "tests/integration/balance/mixed_traffic.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rolter/openai/json_writer.h"

namespace rolter::runtime {
namespace {

/// The text of all `"content":"..."`; the simulated engines' replies need no escapes.
std::string content_of(std::string_view body) {
  constexpr std::string_view kKey = R"("content":")";
  std::string text;
  for (std::size_t at = body.find(kKey); at != std::string_view::npos; at = body.find(kKey, at)) {
    at += kKey.size();
    text += body.substr(at, body.find('"', at) - at);
  }
  return text;
}

}  // namespace

MixedRequest MixedTraffic::next() {
  const std::size_t kind = below(10);
  if (kind == 9 && sent_.size() == kRemembered) {
    MixedRequest again = sent_[below(kRemembered - 3)];
    again.talk = MixedRequest::kNone;
    return again;
  }
  MixedRequest request = kind < 6 ? turn_of_a_talk() : prompt_of_ids();
  sent_.push_back(request);
  if (sent_.size() > kRemembered) {
    sent_.pop_front();
  }
  return request;
}

void MixedTraffic::answered(const MixedRequest& request, std::string_view body) {
  if (request.talk != MixedRequest::kNone) {
    talks_[request.talk].turns.push_back({"assistant", content_of(body)});
  }
}

std::string MixedTraffic::words(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    text += i == 0 ? "" : " ";
    for (std::size_t letters = 2 + below(7); letters > 0; --letters) {
      text.push_back(static_cast<char>('a' + below(26)));
    }
  }
  return text;
}

void MixedTraffic::begin(std::size_t talk) {
  const std::size_t system = talk % kSystemPrompts;
  std::string rules = fmt::format("these are the rules of house number {}", system);
  for (std::size_t i = 0; i < 20 + 15 * system; ++i) {
    rules += fmt::format(" rule {} is {}", i, i * (system + 1));
  }
  talks_[talk] = {.turns = {{"system", rules}},
                  .salt = talk % 4 == 3 ? fmt::format("tenant-{}", talk % 2) : "",
                  .streamed = talk % 3 == 1};
}

MixedRequest MixedTraffic::turn_of_a_talk() {
  const std::size_t talk = (last_talk_ + 1 + below(kTalks - 1)) % kTalks;
  last_talk_ = talk;
  if (talks_[talk].turns.empty() || talks_[talk].turns.size() > kMostTurns) {
    begin(talk);
  }
  Talk& it = talks_[talk];
  it.turns.push_back({"user", words(3 + below(30))});
  openai::JsonWriter json;
  json.object().text("model", "m").number("max_tokens", 8 + below(40)).array("messages");
  for (const simulator::Turn& turn : it.turns) {
    json.object().text("role", turn.role).text("content", turn.text).end();
  }
  json.end();
  if (!it.salt.empty()) {
    json.text("cache_salt", it.salt);
  }
  if (it.streamed) {
    json.flag("stream", true).object("stream_options").flag("include_usage", true).end();
  }
  json.end();
  const auto ids = simulator::render_chat(it.turns, "", simulator::GenerationPrompt::kYes);
  return {.path = "/v1/chat/completions",
          .body = json.take(),
          .ids = fmt::format("{}", fmt::join(ids, ", ")),
          .talk = talk};
}

MixedRequest MixedTraffic::prompt_of_ids() {
  const auto family = static_cast<TokenId>(below(8));
  std::vector<TokenId> ids;
  for (TokenId i = 0; i < 40 + family * 30; ++i) {
    ids.push_back(300 + family * 1'000 + i);
  }
  const auto variant = static_cast<TokenId>(below(6));
  for (TokenId i = 0, own = static_cast<TokenId>(below(100)); i < own; ++i) {
    ids.push_back(20'000 + variant * 1'000 + i);
  }
  openai::JsonWriter json;
  json.object().text("model", "m").number("max_tokens", 1 + below(20)).tokens("prompt", ids).end();
  return {.path = "/v1/completions",
          .body = json.take(),
          .ids = below(2) == 0 ? "" : fmt::format("{}", fmt::join(ids, ",")),
          .talk = MixedRequest::kNone};
}

}  // namespace rolter::runtime
