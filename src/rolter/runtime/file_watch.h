#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "rolter/http/deadline_wheel.h"
#include "rolter/http/loop.h"

namespace rolter::runtime {

/// Tells when a file's content may have changed, whether it was written in place, renamed over or
/// put behind another symbolic link (as Kubernetes does). By a stat(2) a second rather than
/// inotify, which sees neither the far end of a link nor what another machine writes to a network
/// file system. A change is told once it has been left alone for a second. One loop.
class FileWatch {
 public:
  FileWatch(http::Loop& loop, std::string path, std::function<void()> on_change);

  /// From now on; what the file is now counts as known.
  void start();
  void stop() { next_look_.disarm(); }

  /// What the file is now is known already: somebody has just read it for another reason.
  void accept();

 private:
  /// What tells two states of a file apart without reading it; a file that is not there is none.
  struct Print {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::int64_t size = 0;
    std::int64_t changed_ns = 0;
    bool operator==(const Print&) const = default;
  };

  [[nodiscard]] std::optional<Print> look() const;
  void on_look();

  std::string path_;
  std::function<void()> on_change_;
  std::optional<Print> known_;
  std::optional<Print> seen_;  // at the last look
  http::Deadline next_look_;
};

}  // namespace rolter::runtime
