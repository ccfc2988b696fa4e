#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "rolter/admin/decisions.h"
#include "rolter/admin/explainer.h"
#include "rolter/admin/reply.h"
#include "rolter/admin/request_guard.h"
#include "rolter/admin/traffic.h"
#include "rolter/http/loop.h"
#include "rolter/kvcache/prefix_trees.h"
#include "rolter/kvcache/residency.h"
#include "rolter/proxy/loop_state.h"
#include "rolter/telemetry/app_log.h"

namespace rolter::admin {

/// How a reload that was asked for ended.
struct ReloadOutcome {
  bool applied = false;
  std::uint64_t version = 0;  // in force now
  std::string findings;       // of the file, one a line, as `rolter check` prints them
};

/// Starts a reload and calls back on the control loop.
using Reload = std::function<void(std::function<void(ReloadOutcome)> done)>;

/// What the admin listener shows and moves. All must outlive the service.
struct AdminParts {
  proxy::SharedState& shared;
  const kvcache::PrefixTrees& trees;
  const kvcache::Residency& residency;
  std::function<std::string()> metrics;
  Reload reload;  // null: this gateway cannot reload itself
  telemetry::AppLog& log;
};

/// Answers the requests to the admin listener, on the control loop: serving loops are never waited
/// for and never kept waiting.
class AdminService {
 public:
  AdminService(http::Loop& loop, AdminParts parts);

  /// Whether the request is let in; see request_guard.h.
  [[nodiscard]] std::optional<Reply> check(const Request& request) const;

  /// Answers at once. A path that is answered in its own time (drain with a wait, reload, events)
  /// is none of these.
  [[nodiscard]] Reply answer(const Request& request);

  /// One provider out of or back into every comparison. nullopt: it stands so, and so many of its
  /// requests are under way.
  struct DrainOrder {
    std::string target;  // the provider's name
    Duration wait{};     // how long to wait for its last request
  };
  [[nodiscard]] static std::expected<DrainOrder, Reply> read_drain_order(std::string_view body);
  [[nodiscard]] std::expected<std::shared_ptr<cluster::Replica>, Reply> drain(
      const DrainOrder& order, bool drained);

  /// Starts a reload; false: this gateway cannot.
  [[nodiscard]] bool reload(std::function<void(ReloadOutcome)> done);

  /// A server-sent event with the state, and one with what has been decided since the cursor.
  [[nodiscard]] std::string events(DecisionCursor& cursor);

  void sample_traffic();

 private:
  [[nodiscard]] Reply state(const Request& request);
  [[nodiscard]] Reply explain(const Request& request);
  [[nodiscard]] Reply residency(const Request& request) const;

  http::Loop& loop_;
  AdminParts parts_;
  Explainer explainer_;
  Traffic traffic_;
};

/// {"target","drained","in_flight"}: 200, or 202 while a drained provider still has requests.
[[nodiscard]] Reply drain_reply(const Request& request, const cluster::Replica& replica);
[[nodiscard]] Reply reload_reply(const ReloadOutcome& outcome);

/// The value of `name` in a query, percent-decoded; "" when it is not there.
[[nodiscard]] std::string query_value(std::string_view query, std::string_view name);

}  // namespace rolter::admin
