#include "rolter/http/upstream_pool.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/error.hpp>
#include <utility>

#include "rolter/http/socket_options.h"

namespace rolter::http {
namespace {

constexpr std::chrono::milliseconds kSweepInterval{1'000};

}  // namespace

UpstreamPool::UpstreamPool(Loop& loop) : loop_(loop), sweep_(loop.wheel(), [this] { sweep(); }) {}

std::unique_ptr<UpstreamConnection> UpstreamPool::take_idle() {
  const TimePoint oldest = loop_.now() - kMaxIdle;
  while (!idle_.empty()) {
    Idle newest = std::move(idle_.back());
    idle_.pop_back();
    if (newest.since < oldest) {
      idle_.clear();
      break;
    }
    if (newest.connection->was_quiet()) {
      return std::move(newest.connection);
    }
  }
  return nullptr;
}

void UpstreamPool::put_back(std::unique_ptr<UpstreamConnection> connection) {
  if (!connection->reusable()) {
    return;
  }
  idle_.push_back({std::move(connection), loop_.now()});
  if (!sweep_.armed()) {
    sweep_.arm(kSweepInterval);
  }
}

void UpstreamPool::close_idle() {
  idle_.clear();
  sweep_.disarm();
}

void UpstreamPool::sweep() {
  const TimePoint oldest = loop_.now() - kMaxIdle;
  const auto keep =
      std::ranges::find_if(idle_, [oldest](const Idle& idle) { return idle.since >= oldest; });
  idle_.erase(idle_.begin(), keep);
  if (!idle_.empty()) {
    sweep_.arm(kSweepInterval);
  }
}

Dialer::Dialer(Loop& loop)
    : loop_(loop), deadline_(loop.wheel(), [this] {
        timed_out_ = true;
        close();
      }) {}

void Dialer::abort() {
  aborted_ = true;
  close();
}

void Dialer::close() {
  if (socket_) {
    boost::system::error_code ignored;
    socket_->close(ignored);
  }
  if (connection_) {
    connection_->abort();
  }
}

Task<Result<void>> Dialer::connect_socket(Endpoint address) {
  socket_ = std::make_unique<Socket>(loop_.io().get_executor());
  boost::system::error_code opened;
  socket_->open(address.protocol(), opened);
  if (opened) {
    co_return fail(ErrorKind::kConnectFailed, "cannot open a socket: " + opened.message(),
                   ErrorSource::kGateway, Retry::kNo);
  }
  set_connection_options(socket_->native_handle());
  const auto [ec] = co_await socket_->async_connect(address, asio::as_tuple(asio::deferred));
  if (ec) {
    const ErrorKind kind = ec == asio::error::connection_refused ? ErrorKind::kConnectRefused
                                                                 : ErrorKind::kConnectFailed;
    co_return fail(kind, "cannot connect: " + ec.message(), ErrorSource::kUpstream,
                   Retry::kElsewhere);
  }
  co_return Result<void>{};
}

Task<Result<void>> Dialer::connect(Endpoint address, Duration timeout, TlsPeer tls) {
  timed_out_ = false;
  deadline_.arm(timeout);
  auto connected = co_await connect_socket(address);
  if (connected && !aborted_ && !timed_out_) {
    connection_ = std::make_unique<UpstreamConnection>(loop_, std::move(*socket_));
    if (tls.context) {
      connected = co_await connection_->connect_tls(std::move(tls));
    }
  }
  socket_.reset();
  deadline_.disarm();
  if (aborted_) {
    co_return fail(ErrorKind::kCancelled, "cancelled");
  }
  if (timed_out_) {
    // Not kTimeout: that is a replica which accepted and is silent.
    co_return fail(ErrorKind::kConnectFailed, "connecting timed out", ErrorSource::kUpstream,
                   Retry::kElsewhere);
  }
  if (!connected) {
    connected.error().source = ErrorSource::kUpstream;
    connected.error().retry = Retry::kElsewhere;
  }
  co_return connected;
}

Task<Result<std::unique_ptr<UpstreamConnection>>> Dialer::dial(
    std::shared_ptr<const std::vector<Endpoint>> addresses, EgressCheck egress, Duration timeout,
    TlsPeer tls) {
  Error last{ErrorKind::kConnectFailed, ErrorSource::kUpstream, Retry::kElsewhere,
             "the name does not resolve"};
  const TimePoint started = loop_.now();
  for (std::size_t i = 0; i < addresses->size() && !aborted_; ++i) {
    const Endpoint& address = (*addresses)[i];
    if (auto allowed = egress(address); !allowed) {
      last = std::move(allowed.error());
      continue;
    }
    Duration share = timeout;
    if (timeout > Duration::zero()) {
      const Duration left = started + timeout - loop_.now();
      share = std::max<Duration>(left / static_cast<int>(addresses->size() - i),
                                 std::chrono::milliseconds(1));
    }
    auto connected = co_await connect(address, share, tls);
    if (connected) {
      co_return std::move(connection_);
    }
    connection_.reset();
    last = std::move(connected.error());
  }
  co_return std::unexpected(std::move(last));
}

}  // namespace rolter::http
