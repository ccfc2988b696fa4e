#include "rolter/feeds/name_resolution.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/ip/basic_resolver.hpp>
#include <list>
#include <utility>

namespace rolter::feeds {
namespace {

namespace asio = boost::asio;
using Resolver = asio::ip::basic_resolver<asio::ip::tcp, http::Executor>;
/// After a failure sooner than the interval, but not in a tight loop.
constexpr std::chrono::seconds kRetryInterval{2};

bool is_literal(const std::string& host) {
  boost::system::error_code not_a_literal;
  asio::ip::make_address(host, not_a_literal);
  return !not_a_literal;
}

}  // namespace

/// One generation of watched names. Stopped as a whole: every resolver and timer in use is
/// registered here.
struct NameResolution::Watch {
  std::list<std::function<void()>> cancels;
  std::size_t untried = 0;
  std::function<void()> first_done;
  bool stopped = false;

  void tried_one() {
    if (untried > 0 && --untried == 0 && first_done) {
      std::exchange(first_done, nullptr)();
    }
  }

  class Cancel {
   public:
    Cancel(Watch& watch, std::function<void()> cancel) : watch_(watch) {
      at_ = watch.cancels.insert(watch.cancels.end(), std::move(cancel));
    }
    ~Cancel() { watch_.cancels.erase(at_); }
    Cancel(const Cancel&) = delete;
    Cancel& operator=(const Cancel&) = delete;

   private:
    Watch& watch_;
    std::list<std::function<void()>>::iterator at_;
  };
};

NameResolution::NameResolution(http::Loop& loop, http::TaskScope& scope, Log log)
    : loop_(loop), scope_(scope), log_(std::move(log)) {}

void NameResolution::watch(std::vector<ResolvedName> names, std::function<void()> first_done) {
  stop();
  std::erase_if(names, [](const ResolvedName& name) { return is_literal(name.host); });
  watch_ = std::make_shared<Watch>();
  watch_->untried = names.size();
  watch_->first_done = std::move(first_done);
  if (names.empty()) {
    watch_->untried = 1;
    watch_->tried_one();
  }
  for (ResolvedName& name : names) {
    scope_.spawn("name-resolution", keep_resolved(watch_, std::move(name)));
  }
}

void NameResolution::stop() {
  if (watch_) {
    watch_->stopped = true;
    for (const auto& cancel : watch_->cancels) {
      cancel();
    }
    watch_.reset();
  }
}

http::Task<> NameResolution::keep_resolved(std::shared_ptr<Watch> watch, ResolvedName name) {
  while (!watch->stopped) {
    co_await resolve(watch, name);
    watch->tried_one();
    if (watch->stopped || name.interval <= Duration::zero()) {
      co_return;
    }
    const bool failed = name.cell->load()->empty();
    http::LoopTimer timer(loop_.io().get_executor());
    timer.expires_after(failed ? std::min<Duration>(kRetryInterval, name.interval) : name.interval);
    const Watch::Cancel cancel(*watch, [&timer] { timer.cancel(); });
    co_await timer.async_wait(asio::as_tuple(asio::deferred));
  }
}

http::Task<> NameResolution::resolve(std::shared_ptr<Watch> watch, ResolvedName name) {
  Resolver resolver(loop_.io().get_executor());
  const Watch::Cancel cancel(*watch, [&resolver] { resolver.cancel(); });
  const auto [ec, found] = co_await resolver.async_resolve(name.host, std::to_string(name.port),
                                                           asio::as_tuple(asio::deferred));
  if (watch->stopped) {
    co_return;
  }
  if (ec) {
    log_(name.host, ec.message());
    co_return;
  }
  auto addresses = std::make_shared<http::Addresses>();
  for (const auto& entry : found) {
    if (std::ranges::find(*addresses, entry.endpoint()) == addresses->end()) {
      addresses->push_back(entry.endpoint());
    }
  }
  if (*addresses != *name.cell->load()) {
    name.cell->publish(std::move(addresses));
  }
}

}  // namespace rolter::feeds
