#include "rolter/runtime/event_loop.h"

#include <fmt/format.h>

#include <utility>

namespace rolter::runtime {
namespace {

constexpr std::chrono::milliseconds kFlushInterval{200};

}  // namespace

EventLoop::EventLoop(std::size_t index, const Clock& clock, proxy::SharedState& shared,
                     proxy::LocalEndpoints& local, const Recordings& recordings)
    : shared_(shared),
      local_(local),
      thread_(fmt::format("rolter-loop-{}", index), clock, recordings.logs.app),
      recorder_(thread_.loop(), index, recordings, shared.decisions[index]),
      flush_(thread_.loop().wheel(),
             [this] {
               recorder_.flush();
               flush_.arm(kFlushInterval);
             }),
      state_(thread_.loop(), index, shared, make_seeded_rng(), recorder_) {}

void EventLoop::start() {
  thread_.on_lag([this](Duration lag) { recorder_.loop_was_late(lag); });
  flush_.arm(kFlushInterval);
  thread_.start();
}

void EventLoop::join() {
  thread_.join();
  recorder_.flush();
}

Result<void> EventLoop::listen(const http::Endpoint& address) {
  return listen_with(http::listen_on(thread_.loop().io(), address));
}

Result<void> EventLoop::listen_on_socket(int descriptor) {
  return listen_with(http::listen_on_socket(thread_.loop().io(), descriptor));
}

Result<void> EventLoop::listen_with(Result<http::Acceptor> acceptor) {
  if (!acceptor) {
    return std::unexpected(std::move(acceptor.error()));
  }
  listener_ = std::make_unique<http::Listener>(
      thread_.loop(), std::move(*acceptor),
      http::Listener::Admission{shared_.open_connections,
                                shared_.gateway.load()->config.server.max_connections},
      [this](http::Socket socket) { begin_session(std::move(socket)); });
  thread_.scope().spawn("listener", listener_->run());
  return {};
}

void EventLoop::begin_session(http::Socket socket) {
  shared_.open_connections.fetch_add(1, std::memory_order_relaxed);
  thread_.scope().spawn("session", serve(std::move(socket)));
}

http::Task<> EventLoop::serve(http::Socket socket) {
  struct Presence {
    EventLoop& loop;
    proxy::Session session;

    Presence(EventLoop& event_loop, http::Socket client)
        : loop(event_loop), session(event_loop.state_, event_loop.local_, std::move(client)) {
      loop.sessions_.insert(&session);
      if (loop.finishing_) {
        session.leave();  // accepted in the moment of closing
      }
    }
    Presence(const Presence&) = delete;
    Presence& operator=(const Presence&) = delete;
    ~Presence() {
      loop.sessions_.erase(&session);
      loop.shared_.open_connections.fetch_sub(1, std::memory_order_relaxed);
      if (loop.sessions_.empty() && loop.on_quiet_) {
        std::exchange(loop.on_quiet_, nullptr)();
      }
    }
  };
  Presence presence(*this, std::move(socket));
  co_await presence.session.run();
}

void EventLoop::finish() {
  thread_.post([this] {
    finishing_ = true;
    listener_->close();
    state_.close_idle_connections();
    for (proxy::Session* session : sessions_) {
      session->leave();
    }
  });
}

void EventLoop::when_quiet(std::function<void()> callback) {
  thread_.post([this, callback = std::move(callback)]() mutable {
    if (sessions_.empty()) {
      callback();
    } else {
      on_quiet_ = std::move(callback);
    }
  });
}

void EventLoop::cut() {
  thread_.post([this] {
    for (proxy::Session* session : sessions_) {
      session->abort();
    }
  });
}

}  // namespace rolter::runtime
