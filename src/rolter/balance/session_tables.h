#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "rolter/balance/session_table.h"

namespace rolter::balance {

/// The session tables of the process, one per route that pins sessions, so that a reload breaks no
/// session. Any thread.
class SessionTables {
 public:
  struct Demand {
    std::string route;  // its model
    SessionLimits limits;
  };

  /// Makes the tables that are missing, sets the limits of all and lets go of those that no route
  /// asks for; whoever still holds one keeps it alive.
  void apply(std::span<const Demand> demands);

  /// The route's table; nullptr unless the last apply() asked for it.
  [[nodiscard]] std::shared_ptr<SessionTable> find(std::string_view route) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<SessionTable>, std::less<>> tables_;
};

}  // namespace rolter::balance
