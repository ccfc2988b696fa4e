#include "tests/fakes/faulty_replica.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>
#include <string_view>

namespace rolter::fakes {
namespace {

constexpr std::string_view kStreamHead =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
constexpr std::string_view kContent =
    R"(data: {"choices":[{"index":0,"delta":{"content":"hello"}}]})"
    "\n\n";
constexpr std::string_view kDone = "data: [DONE]\n\n";
constexpr std::string_view kCompletion =
    R"({"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant",)"
    R"("content":"hello"},"finish_reason":"stop"}]})";

std::string chunk(std::string_view data) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string size;
  for (std::size_t left = data.size(); left > 0; left /= 16) {
    size.insert(size.begin(), kDigits[left % 16]);
  }
  return size + "\r\n" + std::string(data) + "\r\n";
}

std::string whole(std::string_view status, std::string_view body, std::string_view fields = {}) {
  return "HTTP/1.1 " + std::string(status) +
         "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n" + std::string(fields) + "\r\n" + std::string(body);
}

bool write_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) {
      return false;
    }
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

/// The length that the head of a request announces for its body.
std::size_t body_length(std::string_view head) {
  constexpr std::string_view kField = "Content-Length: ";
  const std::size_t at = head.find(kField);
  return at == std::string_view::npos
             ? 0
             : std::stoul(std::string(head.substr(at + kField.size(), 20)));
}

/// Moves one whole request from the socket to `request`; what follows it stays in `buffer`.
bool read_request(int socket, std::string& buffer, std::string& request) {
  while (true) {
    if (const std::size_t end = buffer.find("\r\n\r\n"); end != std::string::npos) {
      const std::size_t length = end + 4 + body_length(std::string_view(buffer).substr(0, end));
      if (buffer.size() >= length) {
        request = buffer.substr(0, length);
        buffer.erase(0, length);
        return true;
      }
    }
    char bytes[4096];
    const ssize_t count = ::recv(socket, bytes, sizeof bytes, 0);
    if (count <= 0) {
      return false;
    }
    buffer.append(bytes, static_cast<std::size_t>(count));
  }
}

void await_end(int socket) {
  char byte = 0;
  while (::recv(socket, &byte, 1, 0) > 0) {
  }
}

}  // namespace

FaultyReplica::FaultyReplica() {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener_, generic, size) != 0 || ::listen(listener_, 64) != 0 ||
      ::getsockname(listener_, generic, &size) != 0) {
    throw std::runtime_error("a fake replica cannot listen");
  }
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { accept_all(); });
}

FaultyReplica::~FaultyReplica() {
  refuse();
}

void FaultyReplica::refuse() {
  if (refusing_.exchange(true)) {
    return;
  }
  ::shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  ::close(listener_);
  {
    const std::lock_guard lock(mutex_);
    for (const int socket : open_) {
      ::shutdown(socket, SHUT_RDWR);
    }
  }
  for (std::thread& connection : connections_) {
    connection.join();
  }
}

std::string FaultyReplica::last_request() const {
  const std::lock_guard lock(mutex_);
  return last_request_;
}

void FaultyReplica::accept_all() {
  while (true) {
    const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) {
      return;
    }
    const std::lock_guard lock(mutex_);
    open_.insert(socket);
    connections_.emplace_back([this, socket] { serve(socket); });
  }
}

void FaultyReplica::serve(int socket) {
  std::string buffer;
  std::string request;
  while (read_request(socket, buffer, request) && answer(socket, request)) {
  }
  const std::lock_guard lock(mutex_);
  open_.erase(socket);
  ::close(socket);
}

/// False when the connection is of no more use.
bool FaultyReplica::answer(int socket, const std::string& request) {
  if (request.starts_with("GET ")) {
    return write_all(socket, whole(healthy_ ? "200 OK" : "500 Internal Server Error", page_));
  }
  {
    const std::lock_guard lock(mutex_);
    last_request_ = request;
  }
  ++requests_;
  const bool streamed = request.find(R"("stream":true)") != std::string::npos;
  switch (manner_.load()) {
    case Manner::kServe:
      return write_all(
          socket, streamed ? std::string(kStreamHead) + chunk(kContent) + chunk(kDone) + "0\r\n\r\n"
                           : whole("200 OK", kCompletion));
    case Manner::kServerError:
      return write_all(socket, whole("500 Internal Server Error", R"({"error":{}})"));
    case Manner::kRateLimited:
      return write_all(socket,
                       whole("429 Too Many Requests", R"({"error":{}})", "Retry-After: 60\r\n"));
    case Manner::kHang:
      await_end(socket);
      return false;
    case Manner::kResetMidStream:
      write_all(socket, std::string(kStreamHead) + chunk(kContent));
      reset(socket);
      return false;
  }
  return false;
}

void FaultyReplica::reset(int socket) {
  const linger now{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

}  // namespace rolter::fakes
