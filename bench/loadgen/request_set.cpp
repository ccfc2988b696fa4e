#include "bench/loadgen/request_set.h"

#include <fmt/format.h>

namespace rolter::loadgen {
namespace {

std::string system_prompt() {
  std::string text;
  while (text.size() < 1000) {
    text += "Answer shortly and precisely, cite the file and the line, never invent an API. ";
  }
  text.resize(1000);
  return text;
}

std::string question(std::size_t conversation, std::size_t bytes) {
  std::string text =
      fmt::format("Conversation {}, question {}: ", conversation * 7919 % 1000, conversation);
  for (std::size_t i = 0; text.size() < bytes; ++i) {
    text += fmt::format("word{} of item{}, ", (conversation * 31 + i * 17) % 997, i);
  }
  text.resize(bytes);
  return text;
}

std::string make_body(const RequestSetOptions& options, std::size_t conversation) {
  const std::string head = fmt::format(
      R"({{"model":"{}","messages":[{{"role":"system","content":"{}"}},{{"role":"user","content":")",
      options.model, system_prompt());
  const std::string tail =
      fmt::format(R"("}}],"max_tokens":{},"temperature":0.7,"seed":{},"stream":{}}})",
                  options.max_tokens, options.pace.microseconds, options.stream);
  const std::size_t framing = head.size() + tail.size();
  const std::size_t rest = options.body_bytes > framing + 50 ? options.body_bytes - framing : 50;
  return head + question(conversation, rest) + tail;
}

}  // namespace

std::vector<std::string> make_requests(const RequestSetOptions& options) {
  std::vector<std::string> requests;
  const std::string key =
      options.key.empty() ? "" : fmt::format("Authorization: Bearer {}\r\n", options.key);
  for (std::size_t i = 0; i < options.conversations; ++i) {
    const std::string body = make_body(options, i);
    requests.push_back(fmt::format("POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n"
                                   "Content-Type: application/json\r\n{}Content-Length: {}\r\n\r\n",
                                   options.port, key, body.size()) +
                       body);
  }
  return requests;
}

}  // namespace rolter::loadgen
