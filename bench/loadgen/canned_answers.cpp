#include "bench/loadgen/canned_answers.h"

#include <fmt/format.h>

namespace rolter::loadgen {
namespace {

constexpr std::string_view kText =
    "The quick brown fox jumps over the lazy dog. Gateways add latency to every request; this "
    "canned answer is here only to be copied from one socket to another without being looked at. "
    "It has about four hundred characters so that the whole JSON is near seven hundred bytes, as a "
    "short chat answer of eighty tokens would be. End of the canned answer text.";

std::string event(std::string_view delta, std::string_view rest) {
  return fmt::format(
      "data: {{\"id\":\"chatcmpl-0123456789abcdef0123456789abcdef\",\"object\":"
      "\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"m\",\"choices\":[{{\"index\":0,"
      "\"delta\":{},\"logprobs\":null,\"finish_reason\":{}}}\n\n",
      delta, rest);
}

}  // namespace

std::string_view json_answer() {
  static const std::string kBody = fmt::format(
      "{{\"id\":\"chatcmpl-0123456789abcdef0123456789abcdef\",\"object\":\"chat.completion\","
      "\"created\":1700000000,\"model\":\"m\",\"choices\":[{{\"index\":0,\"message\":{{\"role\":"
      "\"assistant\",\"content\":\"{}\"}},\"logprobs\":null,\"finish_reason\":\"stop\"}}],"
      "\"usage\":"
      "{{\"prompt_tokens\":600,\"completion_tokens\":80,\"total_tokens\":680,"
      "\"prompt_tokens_details\":null}},\"system_fingerprint\":null}}",
      kText);
  return kBody;
}

std::string_view stream_start() {
  static const std::string kEvent = event(R"({"role":"assistant","content":""})", "null}]");
  return kEvent;
}

std::string_view stream_chunk() {
  static const std::string kEvent = event(R"({"content":" fox jumps"})", "null}],\"usage\":null");
  return kEvent;
}

std::string_view stream_end() {
  static const std::string kEvents = event("{}", "\"stop\"}]") + "data: [DONE]\n\n";
  return kEvents;
}

std::string stream_answer(std::uint64_t chunks) {
  std::string body(stream_start());
  for (std::uint64_t i = 0; i < chunks; ++i) {
    body += stream_chunk();
  }
  return body.append(stream_end());
}

std::string http_response(std::string_view status, std::string_view content_type,
                          std::string_view body) {
  return fmt::format("HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n\r\n{}", status,
                     content_type, body.size(), body);
}

std::string_view stream_head() {
  return "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
         "Cache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n";
}

std::string http_chunk(std::string_view bytes) {
  return fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes);
}

}  // namespace rolter::loadgen
