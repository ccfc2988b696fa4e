#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <unordered_set>

#include "rolter/http/listener.h"
#include "rolter/proxy/loop_state.h"
#include "rolter/proxy/session.h"
#include "rolter/runtime/loop_recorder.h"
#include "rolter/runtime/loop_thread.h"

namespace rolter::runtime {

/// One of the loops that serve clients: its thread, its listening socket, its sessions and its
/// connections to the replicas. Shares nothing with the others but SharedState.
class EventLoop {
 public:
  EventLoop(std::size_t index, const Clock& clock, proxy::SharedState& shared,
            proxy::LocalEndpoints& local, const Recordings& recordings);

  /// Before start(). The address may have port 0; address() then tells the port.
  [[nodiscard]] Result<void> listen(const http::Endpoint& address);
  /// On a socket that the process was started with instead.
  [[nodiscard]] Result<void> listen_on_socket(int descriptor);
  [[nodiscard]] http::Endpoint address() const { return listener_->address(); }

  void start();

  /// Stops accepting and lets go of connections that carry no request. Any thread, as the others.
  void finish();
  /// Calls back, on the loop, when the last client connection has ended.
  void when_quiet(std::function<void()> callback);
  /// Ends what is still under way.
  void cut();
  /// After finish(): waits until everything has ended.
  void join();

 private:
  [[nodiscard]] Result<void> listen_with(Result<http::Acceptor> acceptor);
  void begin_session(http::Socket socket);
  [[nodiscard]] http::Task<> serve(http::Socket socket);

  proxy::SharedState& shared_;
  proxy::LocalEndpoints& local_;
  LoopThread thread_;
  LoopRecorder recorder_;
  http::Deadline flush_;
  proxy::LoopState state_;
  std::unique_ptr<http::Listener> listener_;
  std::unordered_set<proxy::Session*> sessions_;
  std::function<void()> on_quiet_;
  bool finishing_ = false;
};

}  // namespace rolter::runtime
