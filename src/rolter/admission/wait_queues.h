#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "rolter/admission/wait_queue.h"
#include "rolter/config/config.h"

namespace rolter::admission {

/// The queues of the process, one per route that has a target with a cap: kept across reloads, so
/// that a place given back by a request of the old configuration wakes one of the new. One thread.
class WaitQueues {
 public:
  /// Makes the queues that are missing, sets the capacity of all and lets go of those that no route
  /// asks for; whoever still waits in one keeps it alive.
  void apply(const config::Config& config);

  /// The route's queue; nullptr when none of its targets has a cap.
  [[nodiscard]] std::shared_ptr<WaitQueue> find(std::string_view route) const;

 private:
  std::map<std::string, std::shared_ptr<WaitQueue>, std::less<>> queues_;
};

}  // namespace rolter::admission
