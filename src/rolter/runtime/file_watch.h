#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "rolter/http/deadline_wheel.h"
#include "rolter/http/loop.h"

namespace rolter::runtime {

/// Tells when the content of one of some files may have changed, whether it was written in place,
/// renamed over or put behind another symbolic link (as Kubernetes does). By a stat(2) a second
/// rather than inotify, which sees neither the far end of a link nor what another machine writes to
/// a network file system. A change is told once it has been left alone for a second. One loop.
class FileWatch {
 public:
  FileWatch(http::Loop& loop, std::function<void()> on_change);

  /// These files from now on; what they are now counts as known, as somebody has just read them.
  void follow(const std::vector<std::string>& paths);
  void stop() { next_look_.disarm(); }

 private:
  /// What tells two states of a file apart without reading it; a file that is not there is none.
  struct Print {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::int64_t size = 0;
    std::int64_t changed_ns = 0;
    bool operator==(const Print&) const = default;
  };

  struct File {
    std::string path;
    std::optional<Print> known;
    std::optional<Print> seen;  // at the last look
  };

  [[nodiscard]] static std::optional<Print> look(const std::string& path);
  [[nodiscard]] static bool has_changed(File& file);
  void on_look();

  std::vector<File> files_;
  std::function<void()> on_change_;
  http::Deadline next_look_;
};

}  // namespace rolter::runtime
