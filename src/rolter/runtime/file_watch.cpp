#include "rolter/runtime/file_watch.h"

#include <sys/stat.h>

#include <utility>

namespace rolter::runtime {
namespace {

constexpr std::chrono::seconds kInterval{1};

}  // namespace

FileWatch::FileWatch(http::Loop& loop, std::string path, std::function<void()> on_change)
    : path_(std::move(path)),
      on_change_(std::move(on_change)),
      next_look_(loop.wheel(), [this] { on_look(); }) {}

void FileWatch::start() {
  accept();
  next_look_.arm(kInterval);
}

void FileWatch::accept() {
  known_ = seen_ = look();
}

std::optional<FileWatch::Print> FileWatch::look() const {
  struct stat found{};
  if (::stat(path_.c_str(), &found) != 0) {
    return std::nullopt;
  }
  return Print{.device = found.st_dev,
               .inode = found.st_ino,
               .size = found.st_size,
               .changed_ns = found.st_mtim.tv_sec * 1'000'000'000 + found.st_mtim.tv_nsec};
}

void FileWatch::on_look() {
  const std::optional<Print> now = look();
  // Gone is between two states: an editor that renames, or a file system that comes back.
  const bool settled = now && now == seen_;
  seen_ = now;
  next_look_.arm(kInterval);
  if (settled && now != known_) {
    known_ = now;
    on_change_();
  }
}

}  // namespace rolter::runtime
