#include "rolter/runtime/index_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>
#include <utility>

namespace rolter::runtime {
namespace {

constexpr std::chrono::minutes kBetweenSaves{1};
constexpr std::size_t kWriteBytes = std::size_t{1} << 20;

std::unexpected<Error> system_fault(std::string_view what, const std::string& path) {
  return fail(ErrorKind::kUnavailable,
              fmt::format("cannot {} {}: {}", what, path, std::strerror(errno)));
}

/// A replica is the same when name and address are.
std::vector<kvcache::SavedReplica> replicas_of(const proxy::GatewayState& state) {
  std::vector<kvcache::SavedReplica> replicas;
  for (std::size_t i = 0; i < state.config.providers.size(); ++i) {
    const config::Provider& provider = state.config.providers[i];
    const cluster::Replica& replica = *state.cluster->replicas[i];
    replicas.push_back(
        {.identity = fmt::format("{} {}:{}{}", provider.name, provider.api_base.host,
                                 provider.api_base.port, provider.api_base.base_path),
         .slot = replica.slot(),
         .started_at = replica.started_at()});
  }
  return replicas;
}

/// A file that is written aside and takes the other's place when it is whole.
class NewFile {
 public:
  explicit NewFile(std::string path) : path_(std::move(path)), aside_(path_ + ".new") {}
  ~NewFile() {
    if (file_ >= 0) {
      ::close(file_);
      ::unlink(aside_.c_str());
    }
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  Result<void> open() {
    ::unlink(aside_.c_str());  // left by a process that was killed
    file_ = ::open(aside_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
    return file_ < 0 ? Result<void>(system_fault("write", aside_)) : Result<void>{};
  }

  Result<void> add(std::string_view bytes) {
    pending_ += bytes;
    size_ += bytes.size();
    return pending_.size() < kWriteBytes ? Result<void>{} : flush();
  }

  Result<void> replace() {
    if (auto flushed = flush(); !flushed) {
      return flushed;
    }
    if (::fsync(file_) != 0 || ::rename(aside_.c_str(), path_.c_str()) != 0) {
      return system_fault("write", path_);
    }
    ::close(std::exchange(file_, -1));
    return {};
  }

  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  Result<void> flush() {
    std::string_view left = pending_;
    while (!left.empty()) {
      const ssize_t written = ::write(file_, left.data(), left.size());
      if (written < 0 && errno != EINTR) {
        return system_fault("write", aside_);
      }
      left.remove_prefix(written > 0 ? static_cast<std::size_t>(written) : 0);
    }
    pending_.clear();
    return {};
  }

  std::string path_;
  std::string aside_;
  std::string pending_;
  std::size_t size_ = 0;
  int file_ = -1;
};

/// A whole file in memory, as pages of it are needed.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat about{};
    if (file < 0 || ::fstat(file, &about) != 0) {
      fault_ = errno;
    } else if (about.st_size > 0) {
      size_ = static_cast<std::size_t>(about.st_size);
      bytes_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
      fault_ = bytes_ == MAP_FAILED ? errno : 0;
    }
    if (file >= 0) {
      ::close(file);
    }
  }
  ~MappedFile() {
    if (size_ > 0 && bytes_ != MAP_FAILED) {
      ::munmap(bytes_, size_);
    }
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  /// Of errno; 0 = none.
  [[nodiscard]] int fault() const { return fault_; }
  [[nodiscard]] std::string_view bytes() const {
    return {static_cast<const char*>(bytes_), fault_ == 0 ? size_ : 0};
  }

 private:
  void* bytes_ = nullptr;
  std::size_t size_ = 0;
  int fault_ = 0;
};

}  // namespace

void IndexStore::load() {
  const auto state = state_();
  const std::string& path = state->config.index.save_path;
  if (path.empty()) {
    return;
  }
  const MappedFile file(path);
  if (file.fault() == ENOENT) {
    log_.info("no index at {} yet: it starts empty", path);
    return;
  }
  const auto records =
      file.fault() == 0 ? kvcache::read_index_file(file.bytes())
                        : Result<std::vector<kvcache::IndexRecord>>(fail(
                              ErrorKind::kUnavailable, std::string(std::strerror(file.fault()))));
  const auto loaded = records ? take_up(*state, *records)
                              : Result<kvcache::LoadedTrees>(std::unexpected(records.error()));
  if (!loaded) {
    log_.warn("the index at {} is not used, and it starts empty: {}", path, loaded.error().message);
    return;
  }
  log_.info("the index at {} has {} prompts; {} are of replicas that are gone; {} chains", path,
            loaded->prompts + loaded->strange, loaded->strange, chains_.stats().tree.prompts);
}

Result<kvcache::LoadedTrees> IndexStore::take_up(const proxy::GatewayState& state,
                                                 const std::vector<kvcache::IndexRecord>& records) {
  const auto known = [&state](const kvcache::SavedReplica& replica, double started_at) {
    for (const auto& one : state.cluster->replicas) {
      if (one->slot() == replica.slot) {
        one->has_run_since(started_at);
      }
    }
  };
  auto loaded = kvcache::load_trees(records, trees_, replicas_of(state), known);
  std::vector<std::string_view> chains;
  for (const kvcache::IndexRecord& record : records) {
    if (record.tag == kvcache::RecordTag::kChains) {
      chains.push_back(record.payload);
    }
  }
  if (loaded && !chains_.load(chains)) {
    return fail(ErrorKind::kInvalidInput, "a record of learned chains is cut off");
  }
  return loaded;
}

void IndexStore::start() {
  if (thread_.joinable() || state_()->config.index.save_path.empty()) {
    return;
  }
  thread_ = std::thread([this] {
    ::pthread_setname_np(::pthread_self(), "rolter-index");
    run();
  });
}

void IndexStore::stop() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  stop_asked_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void IndexStore::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    const bool stops = stop_asked_.wait_for(lock, kBetweenSaves, [this] { return stops_; });
    lock.unlock();
    save();
    lock.lock();
    if (stops) {
      return;
    }
  }
}

void IndexStore::save() {
  const auto state = state_();
  const std::string& path = state->config.index.save_path;
  if (path.empty()) {
    return;
  }
  const auto written = write(path, replicas_of(*state));
  const std::string problem = written ? "" : written.error().message;
  if (problem != told_problem_) {
    told_problem_ = problem;
    if (problem.empty()) {
      log_.info("the index is saved at {} again", path);
    } else {
      log_.warn("the index is not saved: {}", problem);
    }
  }
  if (written) {
    log_.debug("the index is saved at {}: {} bytes", path, *written);
  }
}

Result<std::size_t> IndexStore::write(const std::string& path,
                                      const std::vector<kvcache::SavedReplica>& replicas) {
  NewFile file(path);
  Result<void> done = file.open();
  if (done) {
    done = file.add(kvcache::index_file_head());
  }
  std::uint64_t records = 0;
  const auto add = [&](kvcache::RecordTag tag, std::string_view payload) {
    done = file.add(kvcache::index_record(tag, payload));
    records += 1;
    return done.has_value();
  };
  if (done) {
    kvcache::save_trees(trees_, replicas, add);
  }
  std::string piece;
  bool more = true;
  for (kvcache::ChainTree::NodeIndex cursor = 0; more && done; piece.clear()) {
    more = chains_.save(cursor, piece);
    if (!piece.empty()) {
      add(kvcache::RecordTag::kChains, piece);
    }
  }
  if (done) {
    done = file.add(kvcache::index_file_end(records));
  }
  if (done) {
    done = file.replace();
  }
  if (!done) {
    return std::unexpected(std::move(done.error()));
  }
  return file.size();
}

}  // namespace rolter::runtime
