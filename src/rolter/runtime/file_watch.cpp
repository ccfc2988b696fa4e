#include "rolter/runtime/file_watch.h"

#include <sys/stat.h>

#include <utility>

namespace rolter::runtime {
namespace {

constexpr std::chrono::seconds kInterval{1};

}  // namespace

FileWatch::FileWatch(http::Loop& loop, std::function<void()> on_change)
    : on_change_(std::move(on_change)), next_look_(loop.wheel(), [this] { on_look(); }) {}

void FileWatch::follow(const std::vector<std::string>& paths) {
  files_.clear();
  for (const std::string& path : paths) {
    const std::optional<Print> now = look(path);
    files_.push_back({.path = path, .known = now, .seen = now});
  }
  next_look_.arm(kInterval);
}

std::optional<FileWatch::Print> FileWatch::look(const std::string& path) {
  struct stat found{};
  if (::stat(path.c_str(), &found) != 0) {
    return std::nullopt;
  }
  return Print{.device = found.st_dev,
               .inode = found.st_ino,
               .size = found.st_size,
               .changed_ns = found.st_mtim.tv_sec * 1'000'000'000 + found.st_mtim.tv_nsec};
}

bool FileWatch::has_changed(File& file) {
  const std::optional<Print> now = look(file.path);
  // Gone is between two states: an editor that renames, or a file system that comes back.
  const bool settled = now && now == file.seen;
  file.seen = now;
  if (!settled || now == file.known) {
    return false;
  }
  file.known = now;
  return true;
}

void FileWatch::on_look() {
  bool changed = false;
  for (File& file : files_) {
    changed = has_changed(file) || changed;
  }
  next_look_.arm(kInterval);
  if (changed) {
    on_change_();
  }
}

}  // namespace rolter::runtime
