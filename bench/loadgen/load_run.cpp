#include "bench/loadgen/load_run.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "bench/loadgen/canned_answers.h"

namespace rolter::loadgen {
namespace {

constexpr Nanoseconds kSecond = 1'000'000'000;
constexpr Nanoseconds kGrace = 3 * kSecond;  // for answers after the last request has left
constexpr Nanoseconds kOpening = 60 * kSecond;

Nanoseconds to_ns(double seconds) {
  return static_cast<Nanoseconds>(seconds * 1e9);
}

}  // namespace

LoadRun::LoadRun(LoadOptions options)
    : options_(std::move(options)),
      requests_(make_requests(options_.requests)),
      expected_(options_.requests.stream ? stream_answer(options_.requests.max_tokens)
                                         : std::string(json_answer())) {
  for (std::size_t i = 0; i < options_.connections; ++i) {
    connections_.push_back({.reader = ResponseReader(expected_), .out = {}});
  }
  for (std::size_t i = 0; i < options_.connections; ++i) {
    open(i);
  }
}

LoadResult LoadRun::run() {
  begin_ = now_ns();
  end_ = begin_ + (options_.mode == Mode::kIdle ? kOpening : to_ns(options_.seconds));
  for (std::size_t i = 0; i < connections_.size(); ++i) {
    if (options_.mode == Mode::kRate) {
      free_.push_back(i);
    } else {
      start(i, now_ns());
    }
  }
  for (Nanoseconds now = now_ns(); !is_over(now); now = now_ns()) {
    launch_due(now);
    for (const epoll_event& event : epoll_.wait(next_wait(now))) {
      const auto index = static_cast<std::size_t>(event.data.u64);
      if ((event.events & EPOLLOUT) != 0) {
        send_rest(index);
      }
      if ((event.events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) {
        receive(index);
      }
    }
    announce_idle(now);
  }
  const Nanoseconds took =
      options_.mode == Mode::kRate ? to_ns(options_.seconds) : now_ns() - begin_;
  result_.seconds = static_cast<double>(took) / 1e9;
  for (const Connection& connection : connections_) {
    result_.chunks += connection.busy ? connection.reader.body_bytes() / stream_chunk().size() : 0;
  }
  return std::move(result_);
}

void LoadRun::open(std::size_t index) {
  Connection& connection = connections_[index];
  connection.fd = connect_loopback(options_.requests.port);
  connection.writing = false;
  if (connection.fd >= 0) {
    fcntl(connection.fd, F_SETFL, O_NONBLOCK);
    epoll_.add(connection.fd, index);
  }
}

void LoadRun::start(std::size_t index, Nanoseconds started_at) {
  Connection& connection = connections_[index];
  if (connection.fd < 0) {
    open(index);
  }
  connection.reader.restart();
  connection.busy = true;
  connection.started_at = started_at;
  connection.out = requests_[next_request_++ % requests_.size()];
  if (connection.fd < 0) {
    finish(index);
    return;
  }
  send_rest(index);
}

void LoadRun::send_rest(std::size_t index) {
  Connection& connection = connections_[index];
  while (connection.fd >= 0 && !connection.out.empty()) {
    const ssize_t count =
        send(connection.fd, connection.out.data(), connection.out.size(), MSG_NOSIGNAL);
    if (count < 0) {
      break;  // full, or broken: then reading says so
    }
    connection.out.remove_prefix(static_cast<std::size_t>(count));
  }
  if (connection.fd >= 0 && connection.writing != !connection.out.empty()) {
    connection.writing = !connection.writing;
    epoll_.watch_writing(connection.fd, index, connection.writing);
  }
}

void LoadRun::receive(std::size_t index) {
  Connection& connection = connections_[index];
  if (connection.fd < 0) {
    return;
  }
  const ssize_t count = recv(connection.fd, buffer_.data(), buffer_.size(), 0);
  if (count < 0 && errno == EAGAIN) {
    return;
  }
  if (count <= 0) {
    epoll_.remove(connection.fd);
    close(std::exchange(connection.fd, -1));
    if (connection.busy) {
      finish(index);
    }
    return;
  }
  if (!connection.busy) {
    return;
  }
  const bool first = connection.reader.body_bytes() == 0;
  const auto state = connection.reader.feed({buffer_.data(), static_cast<std::size_t>(count)});
  if (first && connection.reader.body_bytes() > 0 && options_.requests.stream) {
    ++streams_open_;
    result_.first_byte.push_back(now_ns() - connection.started_at);
  }
  if (state == ResponseReader::State::kComplete || state == ResponseReader::State::kMalformed) {
    finish(index);
  }
}

void LoadRun::finish(std::size_t index) {
  Connection& connection = connections_[index];
  const Nanoseconds now = now_ns();
  connection.busy = false;
  if (connection.reader.is_right()) {
    ++result_.right;
    result_.chunks += options_.requests.stream ? options_.requests.max_tokens : 0;
    result_.latency.push_back(now - connection.started_at);
  } else {
    ++result_.wrong;
  }
  if (connection.fd >= 0 && (connection.reader.closes() || !connection.reader.is_right())) {
    epoll_.remove(connection.fd);
    close(std::exchange(connection.fd, -1));
  }
  if (options_.mode == Mode::kRate) {
    free_.push_back(index);
  } else if (options_.mode == Mode::kClosed && now < end_ && connection.fd >= 0) {
    start(index, now);
  }
}

void LoadRun::launch_due(Nanoseconds now) {
  if (options_.mode == Mode::kClosed && now < end_) {
    for (std::size_t i = 0; i < connections_.size(); ++i) {
      if (connections_[i].fd < 0) {
        start(i, now);  // lost its connection: counted wrong already, and tried once a round
      }
    }
  }
  if (options_.mode != Mode::kRate) {
    return;
  }
  const auto due_at = [this](std::uint64_t number) {
    return begin_ + static_cast<Nanoseconds>(static_cast<double>(number) * 1e9 / options_.rate);
  };
  for (Nanoseconds at = due_at(launched_); at <= now && at < end_; at = due_at(launched_)) {
    waiting_.push_back(at);
    ++launched_;
  }
  while (!waiting_.empty() && !free_.empty()) {
    const std::size_t index = free_.back();
    free_.pop_back();
    start(index, waiting_.front());
    waiting_.pop_front();
  }
}

bool LoadRun::is_over(Nanoseconds now) const {
  if (now < end_) {
    return false;
  }
  const bool answered = waiting_.empty() && free_.size() == connections_.size();
  return options_.mode != Mode::kRate || answered || now >= end_ + kGrace;
}

Nanoseconds LoadRun::next_wait(Nanoseconds now) const {
  if (options_.mode != Mode::kRate || now >= end_) {
    return kSecond / 20;
  }
  const double next = static_cast<double>(launched_) * 1e9 / options_.rate;
  return std::clamp<Nanoseconds>(begin_ + static_cast<Nanoseconds>(next) - now, 0, kSecond / 20);
}

void LoadRun::announce_idle(Nanoseconds now) {
  if (options_.mode != Mode::kIdle || end_ != begin_ + kOpening ||
      streams_open_ + result_.wrong < connections_.size()) {
    return;
  }
  std::printf("open %zu wrong %llu\n", streams_open_,
              static_cast<unsigned long long>(result_.wrong));
  std::fflush(stdout);
  end_ = now + to_ns(options_.seconds);
}

}  // namespace rolter::loadgen
