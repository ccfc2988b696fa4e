#include "rolter/http/readiness.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <system_error>
#include <utility>

namespace rolter::http {
namespace {

constexpr int kEventsAtOnce = 128;
// Then timers and what other threads have posted get their turn.
constexpr int kMostRounds = 16;
constexpr std::uint32_t kEnded = EPOLLRDHUP | EPOLLHUP | EPOLLERR;

int make_set() {
  const int set = ::epoll_create1(EPOLL_CLOEXEC);
  if (set < 0) {
    throw std::system_error(errno, std::generic_category(), "epoll_create1");
  }
  return set;
}

}  // namespace

Readiness::Readiness(asio::io_context& io, Turns& turns, StepTimes& times)
    : io_(io), turns_(turns), times_(times), set_(io.get_executor(), make_set()) {}

Readiness::~Readiness() {
  while (!ready_.empty() || !waiting_.empty()) {
    Waits& waits = ready_.empty() ? waiting_ : ready_;
    const std::coroutine_handle<> chain = waits.front().chain_;
    waits.pop_front();
    chain.destroy();
  }
}

void Readiness::add(WatchedSocket& socket) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.ptr = &socket;
  if (::epoll_ctl(set_.native_handle(), EPOLL_CTL_ADD, socket.descriptor(), &event) != 0) {
    socket.close();  // out of kernel memory: whoever uses it finds it closed
  }
}

void Readiness::let_go(Wait& wait) {
  wait.unlink();
  ready_.push_back(wait);
  if (!is_running_) {
    run_later();
  }
}

void Readiness::run_later() {
  if (!is_run_posted_) {
    is_run_posted_ = true;
    asio::post(io_.get_executor(), [this] {
      is_run_posted_ = false;
      run();
    });
  }
}

/// Only while something waits: an io_context without work must be able to end.
void Readiness::watch_set() {
  if (is_set_watched_ || waiting_.empty()) {
    return;
  }
  is_set_watched_ = true;
  set_.async_wait(asio::posix::descriptor_base::wait_read,
                  [this](const boost::system::error_code& ec) {
                    if (ec != asio::error::operation_aborted) {
                      is_set_watched_ = false;
                      run();
                    }
                  });
}

void Readiness::run() {
  is_running_ = true;
  turns_.hold();
  for (int round = 0; round < kMostRounds; ++round) {
    const int events = take_events();
    resume_ready();
    times_.begin_step();
    turns_.run();
    // After a single event there are seldom others, and watching the set finds them too.
    if (events <= 1 && ready_.empty() && turns_.empty()) {
      break;
    }
  }
  times_.end_steps();
  turns_.release();
  is_running_ = false;
  if (!ready_.empty()) {
    run_later();
  }
  if (waiting_.empty() && is_set_watched_) {
    is_set_watched_ = false;
    set_.cancel();
  }
  watch_set();
}

/// Only takes note: a socket that is told of must still be there, and none ends while no coroutine
/// goes on.
int Readiness::take_events() {
  std::array<epoll_event, kEventsAtOnce> events;
  const int count = ::epoll_wait(set_.native_handle(), events.data(), kEventsAtOnce, 0);
  for (int i = 0; i < count; ++i) {
    static_cast<WatchedSocket*>(events[i].data.ptr)->on_events(events[i].events);
  }
  return count;
}

void Readiness::resume_ready() {
  while (!ready_.empty()) {
    Wait& wait = ready_.front();
    ready_.pop_front();
    times_.begin_step();
    wait.coroutine_.resume();
  }
}

Readiness::Wait::~Wait() {
  if (socket_ != nullptr) {
    (reads_ ? socket_->reader_ : socket_->writer_) = nullptr;
  }
}

void Readiness::Wait::begin() {
  (reads_ ? socket_->reader_ : socket_->writer_) = this;
  Readiness& in = socket_->in_;
  in.waiting_.push_back(*this);
  if (socket_->descriptor_ < 0) {
    socket_->cancel();
  } else if (!in.is_running_) {
    in.watch_set();
  }
}

WatchedSocket::WatchedSocket(Readiness& in, Socket socket) : in_(in), descriptor_(-1) {
  boost::system::error_code failed;
  socket.native_non_blocking(true, failed);
  const int descriptor = socket.release(failed);
  if (!failed) {
    descriptor_ = descriptor;
    in_.add(*this);
  }
}

WatchedSocket::~WatchedSocket() {
  close();
}

void WatchedSocket::on_events(std::uint32_t events) {
  has_ended_ = has_ended_ || (events & kEnded) != 0;
  if ((events & (EPOLLIN | kEnded)) != 0) {
    may_have_bytes_ = true;
    wake(in_, reader_);
  }
  if ((events & (EPOLLOUT | kEnded)) != 0) {
    wake(in_, writer_);
  }
}

void WatchedSocket::wake(Readiness& in, Readiness::Wait*& waiter) {
  if (waiter != nullptr) {
    waiter->socket_ = nullptr;
    in.let_go(*std::exchange(waiter, nullptr));
  }
}

void WatchedSocket::cancel() {
  for (Readiness::Wait** waiter : {&reader_, &writer_}) {
    if (*waiter != nullptr) {
      (*waiter)->cancelled_ = true;
      wake(in_, *waiter);
    }
  }
}

void WatchedSocket::close() {
  if (descriptor_ >= 0) {
    ::close(std::exchange(descriptor_, -1));
  }
  cancel();
}

}  // namespace rolter::http
