#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rolter/base/time.h"
#include "rolter/http/address_book.h"
#include "rolter/http/loop.h"
#include "rolter/http/task_scope.h"

namespace rolter::feeds {

/// One name to keep resolved.
struct ResolvedName {
  std::string host;
  std::uint16_t port = 0;
  Duration interval{};  // between resolutions; 0 = once
  std::shared_ptr<http::AddressCell> cell;
};

/// Keeps the addresses of configured hosts current: resolves each name at once and then at its
/// interval, and publishes what it finds. A name that does not resolve keeps its last addresses: a
/// DNS server that is down must not take the fleet with it. Lives on the control loop (Asio's
/// resolver starts a thread per io_context).
class NameResolution {
 public:
  /// Told about failures, and when a name resolves again.
  using Log = std::function<void(std::string_view host, const std::string& problem)>;

  NameResolution(http::Loop& loop, http::TaskScope& scope, Log log);

  /// Resolves these names from now on instead of any earlier ones; IP literals are left alone.
  /// `first_done` is called once when each has been tried once.
  void watch(std::vector<ResolvedName> names, std::function<void()> first_done);
  void stop();

 private:
  struct Watch;

  [[nodiscard]] http::Task<> keep_resolved(std::shared_ptr<Watch> watch, ResolvedName name);
  [[nodiscard]] http::Task<> resolve(std::shared_ptr<Watch> watch, ResolvedName name);

  http::Loop& loop_;
  http::TaskScope& scope_;
  Log log_;
  std::shared_ptr<Watch> watch_;
};

}  // namespace rolter::feeds
