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
    if (newest.connection->is_quiet()) {
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
        if (socket_) {
          boost::system::error_code ignored;
          socket_->close(ignored);
        }
      }) {}

void Dialer::abort() {
  aborted_ = true;
  if (socket_) {
    boost::system::error_code ignored;
    socket_->close(ignored);
  }
}

Task<Result<void>> Dialer::connect(Endpoint address, Duration timeout) {
  timed_out_ = false;
  socket_ = std::make_unique<Socket>(loop_.io().get_executor());
  boost::system::error_code opened;
  socket_->open(address.protocol(), opened);
  if (opened) {
    co_return fail(ErrorKind::kConnectFailed, "cannot open a socket: " + opened.message(),
                   ErrorSource::kGateway, Retry::kNo);
  }
  set_connection_options(socket_->native_handle());
  deadline_.arm(timeout);
  const auto [ec] = co_await socket_->async_connect(address, asio::as_tuple(asio::deferred));
  deadline_.disarm();
  if (aborted_) {
    co_return fail(ErrorKind::kCancelled, "cancelled");
  }
  if (timed_out_) {
    // Not kTimeout: that is a replica which accepted and is silent.
    co_return fail(ErrorKind::kConnectFailed, "connecting timed out", ErrorSource::kUpstream,
                   Retry::kElsewhere);
  }
  if (ec) {
    const ErrorKind kind = ec == asio::error::connection_refused ? ErrorKind::kConnectRefused
                                                                 : ErrorKind::kConnectFailed;
    co_return fail(kind, "cannot connect: " + ec.message(), ErrorSource::kUpstream,
                   Retry::kElsewhere);
  }
  co_return Result<void>{};
}

Task<Result<std::unique_ptr<UpstreamConnection>>> Dialer::dial(
    std::shared_ptr<const std::vector<Endpoint>> addresses, EgressCheck egress, Duration timeout) {
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
    auto connected = co_await connect(address, share);
    if (connected) {
      co_return std::make_unique<UpstreamConnection>(loop_, std::move(*socket_));
    }
    last = std::move(connected.error());
  }
  co_return std::unexpected(std::move(last));
}

}  // namespace rolter::http
