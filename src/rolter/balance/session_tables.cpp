#include "rolter/balance/session_tables.h"

#include <utility>

namespace rolter::balance {

void SessionTables::apply(std::span<const Demand> demands) {
  decltype(tables_) tables;
  const std::lock_guard lock(mutex_);
  for (const Demand& demand : demands) {
    const auto known = tables_.find(demand.route);
    if (known == tables_.end()) {
      tables.emplace(demand.route, std::make_shared<SessionTable>(demand.limits));
    } else {
      known->second->set_limits(demand.limits);
      tables.insert(*known);
    }
  }
  tables_.swap(tables);
}

std::shared_ptr<SessionTable> SessionTables::find(std::string_view route) const {
  const std::lock_guard lock(mutex_);
  const auto found = tables_.find(route);
  return found == tables_.end() ? nullptr : found->second;
}

}  // namespace rolter::balance
