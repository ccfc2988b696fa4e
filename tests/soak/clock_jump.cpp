// Loaded into the gateway before libc (LD_PRELOAD): its wall clock is the machine's and as many
// seconds more as the file ROLTER_CLOCK_SHIFT says, which a test may change at any moment. The
// monotonic clock is left alone: the kernel promises that it does not jump.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace {

/// Eight bytes, little-endian. Without the file the clock is the machine's.
const std::atomic<std::int64_t>* map_shift() {
  const char* path = std::getenv("ROLTER_CLOCK_SHIFT");
  const int file = path != nullptr ? ::open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) {
    return nullptr;
  }
  void* mapped = ::mmap(nullptr, sizeof(std::int64_t), PROT_READ, MAP_SHARED, file, 0);
  ::close(file);
  return mapped == MAP_FAILED ? nullptr : static_cast<const std::atomic<std::int64_t>*>(mapped);
}

std::int64_t shift() {
  static const std::atomic<std::int64_t>* const seconds = map_shift();
  return seconds == nullptr ? 0 : seconds->load(std::memory_order_relaxed);
}

template <typename Function>
Function* next_of(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  static auto* const real = next_of<int(clockid_t, timespec*)>("clock_gettime");
  const int result = real(clock, time);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    time->tv_sec += shift();
  }
  return result;
}

extern "C" int gettimeofday(timeval* time, void* zone) noexcept {
  static auto* const real = next_of<int(timeval*, void*)>("gettimeofday");
  const int result = real(time, zone);
  if (result == 0) {
    time->tv_sec += shift();
  }
  return result;
}

extern "C" std::time_t time(std::time_t* out) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (out != nullptr) {
    *out = now.tv_sec;
  }
  return now.tv_sec;
}
