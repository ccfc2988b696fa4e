#include "rolter/runtime/gateway.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <future>
#include <string_view>
#include <thread>
#include <utility>

#include "rolter/base/random.h"
#include "rolter/config/reload.h"
#include "rolter/runtime/vocabulary.h"

namespace rolter::runtime {
namespace {

constexpr std::chrono::seconds kFirstResolution{2};
constexpr std::chrono::seconds kFirstScrape{2};

std::size_t loop_count(const config::Config& config) {
  return config.server.loops != 0 ? config.server.loops
                                  : std::max(1u, std::thread::hardware_concurrency());
}

Result<http::Endpoint> listen_address(const std::string& host, std::uint16_t port) {
  boost::system::error_code ec;
  const auto address = boost::asio::ip::make_address(host == "localhost" ? "127.0.0.1" : host, ec);
  if (ec) {
    return fail(ErrorKind::kInvalidInput,
                fmt::format("cannot listen on \"{}\": give an IP address", host));
  }
  return http::Endpoint(address, port);
}

std::string url_of(std::string_view scheme, const std::string& host, std::uint16_t port) {
  const bool v6 = host.find(':') != std::string::npos;
  return fmt::format("{}://{}:{}", scheme, v6 ? fmt::format("[{}]", host) : host, port);
}

}  // namespace

Gateway::Gateway(config::Config config, admin::Reload reload)
    : logs_(config.log),
      metrics_(loop_count(config) + 1, metric_vocabulary(), build_info()),  // the last: control
      builder_(metrics_, make_seeded_rng()()),
      control_("rolter-control", clock_, logs_.app),
      resolution_(control_.loop(), control_.scope(),
                  [this](std::string_view host, const std::string& problem) {
                    logs_.app.warn("cannot resolve {}: {}", host, problem);
                  }),
      losses_(control_, logs_.app, builder_.trees(), loop_count(config)),
      feeds_(control_, logs_.app, losses_, loop_count(config)),
      kv_events_(control_, clock_, logs_.app, builder_.residency()->index, losses_),
      tokenizing_(control_, logs_.app, builder_.residency()->learned,
                  [this] { return shared_->gateway.load(); }),
      index_store_(builder_.trees(), builder_.residency()->learned, logs_.app,
                   [this] { return shared_->gateway.load(); }),
      reload_(std::move(reload)) {
  const std::size_t loops = loop_count(config);
  auto tls = proxy::load_tls_files(config);
  if (!tls) {
    start_fault_ = std::move(tls.error());
    tls = proxy::TlsFiles{.server = nullptr, .clients = {}};
    tls->clients.resize(config.providers.size());
  }
  auto built = builder_.build(std::move(config), std::move(*tls), clock_.now());
  shared_ = std::make_unique<proxy::SharedState>(std::move(built.state), loops);
  // On the control loop: with hundreds of targets it takes milliseconds.
  local_ = std::make_unique<proxy::LocalAnswers>(*shared_, [this](auto done) {
    control_.post([this, done = std::move(done)] { done(metrics_.expose()); });
  });
  metrics_.add_source([this](telemetry::ScrapeSink& sink) { collect(sink); });
  losses_.follow(shared_->gateway, kv_events_);
  const Recordings recordings{
      .metrics = metrics_, .logs = logs_, .kv_events = kv_events_, .losses = losses_};
  for (std::size_t i = 0; i < loops; ++i) {
    loops_.push_back(std::make_unique<EventLoop>(i, clock_, *shared_, *local_, recordings));
  }
}

Gateway::~Gateway() {
  if (started_) {
    DrainWait wait;
    wait.hurry();
    drain(wait);
  }
}

std::vector<feeds::ResolvedName> Gateway::names(const proxy::GatewayState& state) const {
  std::vector<feeds::ResolvedName> names;
  for (std::size_t i = 0; i < state.providers.size(); ++i) {
    const config::Provider& provider = state.config.providers[i];
    names.push_back({.host = provider.api_base.host,
                     .port = provider.api_base.port,
                     .interval = provider.resolve,
                     .cell = state.providers[i].addresses});
    if (state.providers[i].lmcache) {
      names.push_back({.host = provider.lmcache->endpoint.host,
                       .port = provider.lmcache->endpoint.port,
                       .interval = provider.resolve,
                       .cell = state.providers[i].lmcache->addresses});
    }
  }
  return names;
}

void Gateway::resolve_names_first() {
  // Shared with the callback, which may come after we have stopped waiting.
  auto done = std::make_shared<std::promise<void>>();
  control_.run([this, done] {
    resolution_.watch(names(*shared_->gateway.load()), [done] { done->set_value(); });
  });
  done->get_future().wait_for(kFirstResolution);
}

void Gateway::scrape_first() {
  auto done = std::make_shared<std::promise<void>>();
  control_.run(
      [this, done] { feeds_.watch(*shared_->gateway.load(), [done] { done->set_value(); }); });
  done->get_future().wait_for(kFirstScrape);
}

/// Returns when the index has forgotten the replicas that this configuration does not have.
void Gateway::follow_kv_events(const std::shared_ptr<const proxy::GatewayState>& state) {
  std::promise<void> in_force;
  control_.run([&] { kv_events_.watch(state, [&in_force] { in_force.set_value(); }); });
  in_force.get_future().wait();
}

Result<void> Gateway::start(const std::vector<int>& sockets) {
  if (start_fault_) {
    return std::unexpected(*start_fault_);
  }
  const auto running = state();
  auto address = listen_address(running->config.server.host, running->config.server.port);
  if (!address) {
    return std::unexpected(std::move(address.error()));
  }
  index_store_.load();
  control_.start();
  kv_events_.start();
  tokenizing_.start(shared_->unlearned);
  started_ = true;
  resolve_names_first();
  follow_kv_events(shared_->gateway.load());
  scrape_first();
  if (auto opened = open_admin(); !opened) {
    return opened;
  }
  for (std::size_t i = 0; i < loops_.size(); ++i) {
    const auto listening = sockets.empty()
                               ? loops_[i]->listen(*address)
                               : loops_[i]->listen_on_socket(sockets[i % sockets.size()]);
    if (!listening) {
      return listening;
    }
    // With port 0 the first loop's choice is everybody's.
    address->port(loops_[i]->address().port());
  }
  port_ = address->port();
  for (auto& loop : loops_) {
    loop->start();
  }
  index_store_.start();
  shared_->ready.store(true, std::memory_order_relaxed);
  return {};
}

Result<void> Gateway::open_admin() {
  const auto running = state();
  const config::Admin& settings = running->config.admin;
  auto address = listen_address(settings.host, settings.port);
  Result<void> listening;
  if (settings.port != 0 && settings.port == running->config.server.port) {
    listening =
        fail(ErrorKind::kUnavailable, fmt::format("port {} is the API's (--port)", settings.port));
  } else if (address) {
    control_.run([&] {
      admin_ = std::make_unique<admin::AdminServer>(
          control_.loop(), control_.scope(),
          admin::AdminParts{.shared = *shared_,
                            .trees = builder_.trees(),
                            .residency = *builder_.residency(),
                            .metrics = [this] { return metrics_.expose(); },
                            .reload = reload_,
                            .log = logs_.app});
      listening = admin_->listen(*address);
    });
  } else {
    listening = std::unexpected(std::move(address.error()));
  }
  if (listening) {
    admin_port_ = admin_->port();
    return {};
  }
  if (settings != config::Admin{}) {
    return fail(listening.error().kind,
                listening.error().message + "; set [admin] port to another one, or to 0");
  }
  // Nobody asked for it: several gateways on one machine need not say where theirs is.
  logs_.app.warn("no admin page: {}; set [admin] port to another one", listening.error().message);
  return {};
}

std::string Gateway::url() const {
  const auto running = state();
  const config::Server& server = running->config.server;
  return url_of(server.tls ? "https" : "http", server.host, port_);
}

std::string Gateway::admin_url() const {
  return admin_port_ == 0 ? "" : url_of("http", state()->config.admin.host, admin_port_);
}

void Gateway::publish(proxy::StateBuilder::Built built) {
  shared_->gateway.publish(built.state);
  control_.run([&] {
    resolution_.watch(names(*built.state), nullptr);
    feeds_.watch(*built.state, nullptr);
  });
  follow_kv_events(built.state);
  builder_.forget(built.removed);
  index_store_.start();
}

Result<void> Gateway::reload(config::Config config) {
  if (auto refused = config::refuse_reload(state()->config, config)) {
    reload_refused();
    return fail(ErrorKind::kDenied, refused->key + ": " + refused->message);
  }
  auto tls = proxy::load_tls_files(config);
  if (!tls) {
    reload_refused();
    return std::unexpected(std::move(tls.error()));
  }
  shared_->retry_budget.configure(config.retry.budget);
  logs_.configure(config.log);
  for (const std::string& key : config::needs_restart(state()->config, config)) {
    logs_.app.warn("{} has changed, which takes effect at the next start", key);
  }
  publish(builder_.build(std::move(config), std::move(*tls), clock_.now()));
  reloads_applied_.fetch_add(1, std::memory_order_relaxed);
  return {};
}

void Gateway::reload_refused() {
  reloads_refused_.fetch_add(1, std::memory_order_relaxed);
}

bool Gateway::wait_until_quiet(Duration limit, DrainWait& wait) {
  // All callbacks have come when the loops have been joined, which drain() does.
  quiet_loops_ = 0;
  for (auto& loop : loops_) {
    loop->when_quiet([this, &wait] { wait.changed([this] { ++quiet_loops_; }); });
  }
  return wait.until(clock_.now() + limit, [this] { return quiet_loops_ == loops_.size(); });
}

DrainResult Gateway::drain(DrainWait& wait) {
  if (!started_ || finished_) {
    return DrainResult::kComplete;
  }
  finished_ = true;
  const config::Server server = state()->config.server;
  shared_->draining.store(true, std::memory_order_relaxed);
  wait.until(clock_.now() + server.drain_settle, [] { return false; });
  for (auto& loop : loops_) {
    loop->finish();
  }
  const bool quiet = wait_until_quiet(server.drain, wait);
  if (!quiet) {
    for (auto& loop : loops_) {
      loop->cut();
    }
  }
  for (auto& loop : loops_) {
    loop->join();
  }
  control_.post([this] {
    resolution_.stop();
    feeds_.stop();
    kv_events_.stop();
    tokenizing_.stop();
    if (admin_) {
      admin_->stop();
    }
  });
  control_.join();
  kv_events_.join();
  index_store_.stop();
  return quiet ? DrainResult::kComplete : DrainResult::kCut;
}

}  // namespace rolter::runtime
