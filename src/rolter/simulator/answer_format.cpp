#include "rolter/simulator/answer_format.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "rolter/simulator/tokenizer.h"

namespace rolter::simulator {
namespace {

void append(std::vector<std::string>& events, std::vector<std::string> more) {
  events.insert(events.end(), std::move_iterator(more.begin()), std::move_iterator(more.end()));
}

/// Events for every token that has not been told yet.
std::vector<std::string> new_events(Generation& generation, AnswerFormat& format) {
  std::vector<std::string> events;
  for (std::size_t i = 0; i < generation.choices().size(); ++i) {
    Choice& choice = generation.choices()[i];
    for (; choice.told < choice.tokens.size(); ++choice.told) {
      append(events, format.token(generation, i, choice.told));
    }
  }
  return events;
}

http::Task<> stream_answer(Exchange& exchange, Generation& generation, AnswerFormat& format) {
  bool begun = false;
  while (!generation.cancelled()) {
    std::vector<std::string> events;
    if (!begun && (generation.has_tokens() || generation.done())) {
      begun = true;
      append(events, format.begin(generation));
    }
    append(events, new_events(generation, format));
    if (generation.done()) {
      append(events, format.finish(generation));
    } else if (generation.engine_died()) {
      events.push_back(data_event(fault_body(engine_dead(), FaultShape::kOpenAi)));
      events.push_back("data: [DONE]\n\n");
    }
    if (!events.empty() && !co_await exchange.send_events(std::move(events))) {
      co_return;
    }
    if (generation.done() || generation.engine_died()) {
      co_await exchange.end_events();
      co_return;
    }
    co_await generation.wait();
  }
}

http::Task<> whole_answer(Exchange& exchange, Generation& generation, AnswerFormat& format,
                          std::string extra) {
  while (!generation.done() && !generation.cancelled() && !generation.engine_died()) {
    co_await generation.wait();
  }
  if (generation.cancelled()) {
    co_return;
  }
  if (generation.engine_died()) {
    co_await exchange.answer_fault(engine_dead(), FaultShape::kOpenAi);
  } else {
    co_await exchange.answer_json(200, format.whole(generation), std::move(extra));
  }
}

}  // namespace

http::Task<> send_answer(EngineService& service, Exchange& exchange, Generation& generation,
                         AnswerFormat& format, bool stream) {
  std::string extra;
  if (service.options().request_id_headers) {
    const std::string_view id = exchange.fields().get("x-request-id");
    extra = fmt::format("x-request-id: {}\r\n", id.empty() ? service.make_id("") : std::string(id));
  }
  exchange.watch_client([&generation] { generation.cancel(); });
  if (!stream) {
    co_await whole_answer(exchange, generation, format, std::move(extra));
  } else if (co_await exchange.begin_events(std::move(extra))) {
    co_await stream_answer(exchange, generation, format);
  }
  exchange.unwatch_client();
}

std::string_view finish_word(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kAbort:
      return "abort";
  }
  return "stop";
}

std::string text_of_token(TokenId token) {
  std::string text;
  if (token != kTurnEnd) {
    detokenize(token, text);
  }
  return text;
}

std::string text_of(const Choice& choice) {
  std::string text;
  for (const TokenId token : choice.tokens) {
    text += text_of_token(token);
  }
  return text;
}

std::string data_event(const std::string& json) {
  return "data: " + json + "\n\n";
}

std::string named_event(std::string_view name, const std::string& json) {
  return fmt::format("event: {}\ndata: {}\n\n", name, json);
}

}  // namespace rolter::simulator
