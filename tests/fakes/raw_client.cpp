#include "tests/fakes/raw_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>

namespace rolter::fakes {
namespace {

constexpr int kPatienceSeconds = 10;

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

std::size_t number(std::string_view text, int base) {
  std::size_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, base);
  return value;
}

}  // namespace

std::string RawAnswer::field(std::string_view name) const {
  const std::string key = "\r\n" + lower(name) + ":";
  const std::size_t at = lower(head).find(key);
  if (at == std::string::npos) {
    return {};
  }
  std::size_t begin = at + key.size();
  while (head[begin] == ' ') {
    ++begin;
  }
  return head.substr(begin, head.find("\r\n", begin) - begin);
}

std::vector<std::string> RawAnswer::events() const {
  std::vector<std::string> events;
  std::size_t at = 0;
  while (at < body.size()) {
    const std::size_t end = body.find("\n\n", at);
    const std::string event = body.substr(at, end - at);
    if (const std::size_t data = event.find("data: "); data != std::string::npos) {
      events.push_back(event.substr(data + 6));
    }
    if (end == std::string::npos) {
      break;
    }
    at = end + 2;
  }
  return events;
}

RawClient::RawClient(std::uint16_t port) {
  socket_ = ::socket(AF_INET, SOCK_STREAM, 0);
  const timeval patience{kPatienceSeconds, 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    close();
  }
}

RawClient::~RawClient() {
  close();
}

void RawClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) {
      return;
    }
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

void RawClient::send_post(std::string_view path, std::string_view json,
                          const std::vector<std::pair<std::string, std::string>>& fields) {
  std::string request =
      "POST " + std::string(path) +
      " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(json.size());
  const bool typed = std::ranges::any_of(
      fields, [](const auto& field) { return lower(field.first) == "content-type"; });
  request += typed ? "" : "\r\nContent-Type: application/json";
  for (const auto& [name, value] : fields) {
    request += "\r\n" + name + ": " + value;
  }
  send(request + "\r\n\r\n" + std::string(json));
}

bool RawClient::fill() {
  char bytes[65'536];
  const ssize_t got = ::recv(socket_, bytes, sizeof bytes, 0);
  if (got <= 0) {
    return false;
  }
  buffer_.append(bytes, static_cast<std::size_t>(got));
  return true;
}

bool RawClient::read_until(std::string_view text) {
  while (buffer_.find(text) == std::string::npos) {
    if (!fill()) {
      return false;
    }
  }
  return true;
}

RawAnswer RawClient::read_answer() {
  RawAnswer answer;
  if (!read_until("\r\n\r\n")) {
    answer.head = buffer_;
    return answer;
  }
  const std::size_t end = buffer_.find("\r\n\r\n") + 4;
  answer.head = buffer_.substr(0, end);
  buffer_.erase(0, end);
  answer.status = static_cast<int>(number(std::string_view(answer.head).substr(9, 3), 10));
  if (answer.field("transfer-encoding") != "chunked") {
    const std::size_t length = number(answer.field("content-length"), 10);
    while (buffer_.size() < length && fill()) {
    }
    answer.body = buffer_.substr(0, length);
    answer.complete = answer.body.size() == length;
    buffer_.erase(0, answer.body.size());
    return answer;
  }
  while (read_until("\r\n")) {
    const std::size_t size = number(buffer_, 16);
    buffer_.erase(0, buffer_.find("\r\n") + 2);
    while (buffer_.size() < size + 2 && fill()) {
    }
    answer.body += buffer_.substr(0, size);
    if (buffer_.size() < size + 2) {
      return answer;
    }
    buffer_.erase(0, size + 2);
    if (size == 0) {
      answer.complete = true;
      return answer;
    }
  }
  return answer;
}

bool RawClient::closed_within(std::chrono::milliseconds limit) {
  pollfd waiting{socket_, POLLIN, 0};
  if (::poll(&waiting, 1, static_cast<int>(limit.count())) != 1) {
    return false;
  }
  char byte = 0;
  return ::recv(socket_, &byte, 1, 0) <= 0;
}

void RawClient::half_close() {
  ::shutdown(socket_, SHUT_WR);
}

void RawClient::close() {
  if (socket_ >= 0) {
    ::close(socket_);
    socket_ = -1;
  }
}

RawAnswer post_json(std::uint16_t port, std::string_view path, std::string_view json,
                    const std::vector<std::pair<std::string, std::string>>& fields) {
  RawClient client(port);
  client.send_post(path, json, fields);
  return client.read_answer();
}

RawAnswer get(std::uint16_t port, std::string_view path) {
  RawClient client(port);
  client.send("GET " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
  return client.read_answer();
}

}  // namespace rolter::fakes
