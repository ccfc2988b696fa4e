#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "rolter/base/snapshot_cell.h"
#include "rolter/http/asio.h"

namespace rolter::http {

using Addresses = std::vector<Endpoint>;
using AddressCell = SnapshotCell<Addresses>;

/// The addresses behind each host and port, as last resolved: written by name resolution on the
/// control loop, read by every loop. An unknown or failed name has no addresses. Any thread.
class AddressBook {
 public:
  /// The cell of a host (a name, or an IP literal without brackets) and port. A literal is its own
  /// address from the start. Cells live as long as somebody holds them.
  [[nodiscard]] std::shared_ptr<AddressCell> cell(const std::string& host, std::uint16_t port);

 private:
  std::mutex mutex_;
  std::map<std::pair<std::string, std::uint16_t>, std::weak_ptr<AddressCell>> cells_;
};

}  // namespace rolter::http
