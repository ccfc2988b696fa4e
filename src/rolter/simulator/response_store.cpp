#include "rolter/simulator/response_store.h"

#include <utility>

namespace rolter::simulator {

void ResponseStore::put(const std::string& id, std::vector<Turn> turns) {
  if (turns_.insert_or_assign(id, std::move(turns)).second) {
    oldest_first_.push_back(id);
  }
  if (oldest_first_.size() > capacity_) {
    turns_.erase(oldest_first_.front());
    oldest_first_.pop_front();
  }
}

const std::vector<Turn>* ResponseStore::find(const std::string& id) const {
  const auto found = turns_.find(id);
  return found == turns_.end() ? nullptr : &found->second;
}

}  // namespace rolter::simulator
