#include "rolter/admission/wait_queues.h"

#include <algorithm>

namespace rolter::admission {

void WaitQueues::apply(const config::Config& config) {
  decltype(queues_) queues;
  for (const config::Route& route : config.routes) {
    if (std::ranges::none_of(route.targets, [](const auto& to) { return to.max_in_flight != 0; })) {
      continue;
    }
    auto queue = find(route.model);
    if (queue) {
      queue->set_capacity(route.queue.capacity);
    } else {
      queue = std::make_shared<WaitQueue>(route.queue.capacity);
    }
    queues.emplace(route.model, std::move(queue));
  }
  queues_.swap(queues);
}

std::shared_ptr<WaitQueue> WaitQueues::find(std::string_view route) const {
  const auto found = queues_.find(route);
  return found == queues_.end() ? nullptr : found->second;
}

}  // namespace rolter::admission
