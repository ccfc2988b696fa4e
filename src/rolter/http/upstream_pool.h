#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "rolter/base/error.h"
#include "rolter/http/asio.h"
#include "rolter/http/loop.h"
#include "rolter/http/upstream_connection.h"

namespace rolter::http {

/// Whether an address may be dialled; asked for every connection, after name resolution.
using EgressCheck = std::function<Result<void>(const Endpoint&)>;

/// One loop's connections to one replica.
class UpstreamPool {
 public:
  /// vLLM closes idle connections after 5.0 s without a word (0.32), so ours are not reused
  /// after 4.
  static constexpr std::chrono::milliseconds kMaxIdle{4'000};

  explicit UpstreamPool(Loop& loop);
  UpstreamPool(const UpstreamPool&) = delete;
  UpstreamPool& operator=(const UpstreamPool&) = delete;

  /// The most recently used idle connection that is still quiet, or null.
  [[nodiscard]] std::unique_ptr<UpstreamConnection> take_idle();

  /// Keeps a reusable connection for the next request; closes any other.
  void put_back(std::unique_ptr<UpstreamConnection> connection);

  void close_idle();
  [[nodiscard]] std::size_t idle() const { return idle_.size(); }

 private:
  struct Idle {
    std::unique_ptr<UpstreamConnection> connection;
    TimePoint since;
  };

  void sweep();

  Loop& loop_;
  std::vector<Idle> idle_;  // oldest first
  Deadline sweep_;
};

/// A dial in progress, so that whoever gives up can end it.
class Dialer {
 public:
  explicit Dialer(Loop& loop);

  /// Tries the addresses in turn, those that egress denies left out, until one accepts or `timeout`
  /// (0 = none) has passed in all; a try that is not the last gets at most its even share.
  /// With a context in `tls`, an address accepts when its TLS handshake has succeeded. Errors, of
  /// the last address: kConnectRefused, kConnectFailed (a timeout or a bad certificate too),
  /// kDenied, kCancelled.
  [[nodiscard]] Task<Result<std::unique_ptr<UpstreamConnection>>> dial(
      std::shared_ptr<const std::vector<Endpoint>> addresses, EgressCheck egress, Duration timeout,
      TlsPeer tls = {});

  void abort();

 private:
  [[nodiscard]] Task<Result<void>> connect(Endpoint address, Duration timeout, TlsPeer tls);
  [[nodiscard]] Task<Result<void>> connect_socket(Endpoint address);
  void close();

  Loop& loop_;
  std::unique_ptr<Socket> socket_;                  // while it connects
  std::unique_ptr<UpstreamConnection> connection_;  // from then on
  bool aborted_ = false;
  bool timed_out_ = false;
  Deadline deadline_;
};

}  // namespace rolter::http
