#include "rolter/simulator/load_client.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <chrono>
#include <utility>

namespace rolter::simulator {
namespace {

namespace dom = simdjson::dom;

constexpr std::chrono::seconds kDialTimeout{10};

}  // namespace

struct StreamText::Parser {
  dom::parser json;
};

StreamText::StreamText() : parser_(std::make_unique<Parser>()) {}
StreamText::~StreamText() = default;

void StreamText::on_data(std::string_view bytes) {
  pending_ += bytes;
  std::size_t begin = 0;
  for (std::size_t end = pending_.find("\n\n"); end != std::string::npos;
       end = pending_.find("\n\n", begin)) {
    const std::string_view event = std::string_view(pending_).substr(begin, end - begin);
    if (event.starts_with("data: ")) {
      on_event(event.substr(6));
    }
    begin = end + 2;
  }
  pending_.erase(0, begin);
}

void StreamText::on_event(std::string_view json) {
  if (json == "[DONE]") {
    ended_ = true;
    return;
  }
  dom::element choice;
  if (parser_->json.parse(json.data(), json.size()).at_pointer("/choices/0").get(choice) !=
      simdjson::SUCCESS) {
    return;
  }
  std::string_view text;
  if (choice.at_pointer("/delta/content").get(text) == simdjson::SUCCESS ||
      choice.at_pointer("/text").get(text) == simdjson::SUCCESS) {
    text_ += text;
  }
}

LoadClient::LoadClient(http::Loop& loop, const http::Endpoint& server)
    : loop_(loop),
      server_(std::make_shared<const std::vector<http::Endpoint>>(1, server)),
      pool_(loop) {}

http::Task<Result<std::unique_ptr<http::UpstreamConnection>>> LoadClient::connect() {
  if (auto idle = pool_.take_idle()) {
    co_return idle;
  }
  http::Dialer dialer(loop_);
  co_return co_await dialer.dial(
      server_, [](const http::Endpoint&) { return Result<void>{}; }, kDialTimeout);
}

http::Task<CallOutcome> LoadClient::post(std::string path, std::string body,
                                         std::string token_ids) {
  CallOutcome outcome;
  auto connection = co_await connect();
  if (!connection || aborted_) {
    outcome.failure = connection ? "aborted" : connection.error().message;
    co_return outcome;
  }
  const std::string ids_field =
      token_ids.empty() ? "" : fmt::format("{}: {}\r\n", http::kTokenIdsField, token_ids);
  std::string request = fmt::format(
      "POST {} HTTP/1.1\r\nhost: demo\r\ncontent-type: application/json\r\n{}"
      "content-length: {}\r\n\r\n{}",
      path, ids_field, body.size(), body);
  busy_.insert(connection->get());
  outcome = co_await exchange(**connection, std::move(request));
  busy_.erase(connection->get());
  pool_.put_back(std::move(*connection));
  co_return outcome;
}

http::Task<CallOutcome> LoadClient::exchange(http::UpstreamConnection& connection,
                                             std::string request) {
  CallOutcome outcome;
  const TimePoint sent = loop_.now();
  http::Gather out{request};
  auto sending = connection.try_send(out);
  if (sending && !out.empty()) {
    sending = co_await connection.send_rest(out);
  }
  if (!sending) {
    outcome.failure = sending.error().message;
    co_return outcome;
  }
  if (auto head = co_await connection.read_head(false); !head) {
    outcome.failure = head.error().message;
    co_return outcome;
  }
  outcome.status = connection.head().status;
  StreamText stream;
  while (true) {
    const auto piece = co_await connection.read_body(stream);
    if (!piece) {
      outcome.failure = piece.error().message;
      break;
    }
    if (stream.has_text() && !outcome.first_token) {
      outcome.first_token = loop_.now() - sent;
    }
    if (piece->end) {
      outcome.complete = stream.ended();
      break;
    }
  }
  outcome.text = stream.text();
  co_return outcome;
}

void LoadClient::abort() {
  aborted_ = true;
  for (http::UpstreamConnection* connection : busy_) {
    connection->abort();
  }
  pool_.close_idle();
}

}  // namespace rolter::simulator
