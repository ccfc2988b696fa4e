// A replica that costs almost nothing: one thread, canned answers, several ports.
//
//   fake_upstream PORT[,PORT...]
//
// POST /v1/chat/completions with "stream":true is answered by "max_tokens" chunks, one write each,
// "seed" microseconds apart (0: as fast as possible; Pace::kIdle: one chunk, then silence);
// anything else by a whole answer. Prints "ready" when it listens.
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "bench/loadgen/canned_answers.h"
#include "bench/loadgen/epoll.h"
#include "bench/loadgen/request_set.h"

namespace rolter::loadgen {
namespace {

struct Connection {
  int fd = -1;
  std::uint64_t generation = 0;  // tells this connection from a later one of the same descriptor
  std::string in;
  std::string out;
  bool writing = false;  // a write is pending
  bool streaming = false;
  std::uint64_t chunks_left = 0;
  Nanoseconds interval = 0;
};

struct Due {
  Nanoseconds at;
  int fd;
  std::uint64_t generation;
  bool operator>(const Due& other) const { return at > other.at; }
};

/// What of a head matters here.
struct Head {
  bool chat = false;
  bool health = false;
  bool chunked = false;
  std::size_t length = 0;
};

/// A request that has arrived whole.
struct Request {
  Head head;
  std::size_t bytes = 0;
  std::string settings;  // the end of a streamed body, where the generator puts them
};

constexpr std::size_t kSettingsBytes = 256;

/// One pass over the first letters of the lines: this program must cost less than any gateway.
Head read_head(std::string_view text) {
  Head head{.chat = text.starts_with("POST /v1/chat/completions"),
            .health = text.starts_with("GET /health")};
  for (std::size_t at = text.find('\n'); at + 1 < text.size(); at = text.find('\n', at + 1)) {
    const char* line = text.data() + at + 1;
    const std::size_t left = text.size() - at - 1;
    if ((*line | 32) == 'c' && left > 16 && strncasecmp(line, "content-length: ", 16) == 0) {
      std::from_chars(line + 16, text.data() + text.size(), head.length);
    } else if ((*line | 32) == 't' && left > 26 &&
               strncasecmp(line, "transfer-encoding: chunked", 26) == 0) {
      head.chunked = true;
    }
  }
  return head;
}

std::size_t number_after(std::string_view text, std::string_view name, std::size_t otherwise) {
  const std::size_t at = text.rfind(name);
  if (at == std::string_view::npos) {
    return otherwise;
  }
  std::size_t value = otherwise;
  std::from_chars(text.data() + at + name.size(), text.data() + text.size(), value);
  return value;
}

/// Joins the chunks of a body; absent while it has not arrived whole. `used` gets its framed size.
std::optional<std::string> join_chunks(std::string_view bytes, std::size_t& used) {
  std::string body;
  used = 0;
  for (;;) {
    const std::size_t line = bytes.find("\r\n", used);
    if (line == std::string_view::npos) {
      return std::nullopt;
    }
    std::size_t size = 0;
    std::from_chars(bytes.data() + used, bytes.data() + line, size, 16);
    if (bytes.size() < line + 2 + size + 2) {
      return std::nullopt;
    }
    body += bytes.substr(line + 2, size);
    used = line + 2 + size + 2;
    if (size == 0) {
      return body;
    }
  }
}

std::optional<Request> take_request(std::string_view in) {
  const std::size_t end = in.find("\r\n\r\n");
  if (end == std::string_view::npos) {
    return std::nullopt;
  }
  Request request{.head = read_head(in.substr(0, end + 2)), .bytes = 0, .settings = {}};
  const std::string_view rest = in.substr(end + 4);
  std::size_t length = request.head.length;
  if (request.head.chunked) {
    const auto body = join_chunks(rest, length);
    if (!body) {
      return std::nullopt;
    }
    request.settings = body->substr(body->size() - std::min(body->size(), kSettingsBytes));
  } else if (rest.size() < length) {
    return std::nullopt;
  } else {
    request.settings = rest.substr(length - std::min(length, kSettingsBytes), kSettingsBytes);
  }
  request.bytes = end + 4 + length;
  return request;
}

class FakeUpstream {
 public:
  explicit FakeUpstream(const std::vector<std::uint16_t>& ports) {
    for (const std::uint16_t port : ports) {
      const int fd = listen_loopback(port);
      listeners_.insert(fd);
      epoll_.add(fd, static_cast<std::uint64_t>(fd));
    }
  }

  [[noreturn]] void run() {
    for (;;) {
      for (const epoll_event& event : epoll_.wait(next_wait())) {
        handle(static_cast<int>(event.data.u64), event.events);
      }
      step_fast_streams();
      step_paced_streams();
    }
  }

 private:
  [[nodiscard]] Nanoseconds next_wait() const {
    if (!fast_.empty()) {
      return 0;
    }
    return paced_.empty() ? -1 : std::max<Nanoseconds>(paced_.top().at - now_ns(), 0);
  }

  void handle(int fd, std::uint32_t events) {
    if (listeners_.contains(fd)) {
      accept_all(fd);
      return;
    }
    if ((events & EPOLLOUT) != 0 && !flush(fd)) {
      return;
    }
    if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) {
      read_some(fd);
    }
  }

  void accept_all(int listener) {
    for (int fd = accept_connection(listener); fd >= 0; fd = accept_connection(listener)) {
      if (connections_.size() <= static_cast<std::size_t>(fd)) {
        connections_.resize(static_cast<std::size_t>(fd) + 1024);
      }
      at(fd) = std::make_unique<Connection>();
      at(fd)->fd = fd;
      at(fd)->generation = ++generation_;
      epoll_.add(fd, static_cast<std::uint64_t>(fd));
    }
  }

  std::unique_ptr<Connection>& at(int fd) { return connections_[static_cast<std::size_t>(fd)]; }

  void drop(int fd) {
    epoll_.remove(fd);
    close(fd);
    at(fd).reset();
  }

  void read_some(int fd) {
    if (!at(fd)) {
      return;
    }
    const ssize_t count = recv(fd, buffer_.data(), buffer_.size(), 0);
    if (count < 0 && errno == EAGAIN) {
      return;
    }
    if (count <= 0) {
      drop(fd);
      return;
    }
    at(fd)->in.append(buffer_.data(), static_cast<std::size_t>(count));
    answer_requests(fd);
  }

  void answer_requests(int fd) {
    while (at(fd) && !at(fd)->streaming && !at(fd)->in.empty()) {
      Connection& connection = *at(fd);
      const auto request = take_request(connection.in);
      if (!request) {
        return;
      }
      connection.in.erase(0, request->bytes);
      if (request->head.chat && request->settings.contains("\"stream\":true")) {
        start_stream(connection, request->settings);
      } else {
        connection.out += request->head.chat     ? answer_
                          : request->head.health ? healthy_
                                                 : not_found_;
      }
      if (!flush(fd)) {
        return;
      }
    }
  }

  void start_stream(Connection& connection, std::string_view settings) {
    const std::size_t pace = number_after(settings, "\"seed\":", 0);
    connection.streaming = true;
    connection.chunks_left = number_after(settings, "\"max_tokens\":", 200);
    connection.interval = static_cast<Nanoseconds>(pace) * 1000;
    connection.out.append(stream_head()).append(start_);
    if (pace >= Pace::kIdle) {
      connection.out += chunk_;
    } else if (pace == 0) {
      fast_.push_back(connection.fd);
    } else {
      paced_.push({now_ns() + connection.interval, connection.fd, connection.generation});
    }
  }

  /// Writes one chunk, or the end. False when the stream is over or its connection gone.
  bool step(int fd) {
    Connection& connection = *at(fd);
    if (connection.chunks_left > 0) {
      --connection.chunks_left;
      connection.out += chunk_;
      return flush(fd);
    }
    connection.out += end_;
    connection.streaming = false;
    if (flush(fd)) {
      answer_requests(fd);
    }
    return false;
  }

  void step_fast_streams() {
    std::vector<int> round;
    round.swap(fast_);
    for (const int fd : round) {
      if (!at(fd) || !at(fd)->streaming) {
        continue;
      }
      if (at(fd)->writing || step(fd)) {
        fast_.push_back(fd);
      }
    }
  }

  void step_paced_streams() {
    const Nanoseconds now = now_ns();
    while (!paced_.empty() && paced_.top().at <= now) {
      const Due due = paced_.top();
      paced_.pop();
      const auto& connection = at(due.fd);
      if (!connection || connection->generation != due.generation || !connection->streaming) {
        continue;
      }
      const Nanoseconds interval = connection->interval;
      if (step(due.fd)) {
        paced_.push({due.at + interval, due.fd, due.generation});
      }
    }
  }

  /// False when the connection is gone.
  bool flush(int fd) {
    Connection& connection = *at(fd);
    while (!connection.out.empty()) {
      const ssize_t count = send(fd, connection.out.data(), connection.out.size(), MSG_NOSIGNAL);
      if (count < 0 && errno == EAGAIN) {
        break;
      }
      if (count < 0) {
        drop(fd);
        return false;
      }
      connection.out.erase(0, static_cast<std::size_t>(count));
    }
    if (connection.writing != !connection.out.empty()) {
      connection.writing = !connection.writing;
      epoll_.watch_writing(fd, static_cast<std::uint64_t>(fd), connection.writing);
    }
    return true;
  }

  const std::string answer_ = http_response("200 OK", "application/json", json_answer());
  const std::string healthy_ = http_response("200 OK", "text/plain", "");
  const std::string not_found_ = http_response("404 Not Found", "text/plain", "");
  const std::string start_ = http_chunk(stream_start());
  const std::string chunk_ = http_chunk(stream_chunk());
  const std::string end_ = http_chunk(stream_end()) + "0\r\n\r\n";

  Epoll epoll_;
  std::unordered_set<int> listeners_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::uint64_t generation_ = 0;
  std::vector<int> fast_;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> paced_;
  std::vector<char> buffer_ = std::vector<char>(262'144);
};

std::vector<std::uint16_t> parse_ports(std::string_view list) {
  std::vector<std::uint16_t> ports;
  while (!list.empty()) {
    const std::string_view one = list.substr(0, list.find(','));
    std::uint16_t port = 0;
    std::from_chars(one.data(), one.data() + one.size(), port);
    if (port != 0) {
      ports.push_back(port);
    }
    list.remove_prefix(std::min(one.size() + 1, list.size()));
  }
  return ports;
}

}  // namespace
}  // namespace rolter::loadgen

int main(int argc, char** argv) {
  const auto ports = rolter::loadgen::parse_ports(argc == 2 ? argv[1] : "");
  if (ports.empty()) {
    std::fputs("usage: fake_upstream PORT[,PORT...]\n", stderr);
    return 2;
  }
  std::signal(SIGPIPE, SIG_IGN);
  rolter::loadgen::FakeUpstream upstream(ports);
  std::puts("ready");
  std::fflush(stdout);
  upstream.run();
}
