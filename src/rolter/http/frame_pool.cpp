#include "rolter/http/frame_pool.h"

#include <array>
#include <new>
#include <utility>

namespace rolter::http {
namespace {

constexpr std::size_t kStep = 64;
constexpr std::size_t kClasses = 64;  // frames of up to 4 KiB; longer ones are not kept

// Address sanitizer shall see frames used after their end.
#if __has_feature(address_sanitizer)
constexpr bool kKeeps = false;
#else
constexpr bool kKeeps = true;
#endif

struct Kept {
  Kept* next;
};

struct Lists {
  ~Lists() {
    for (Kept* kept : heads) {
      while (kept != nullptr) {
        ::operator delete(std::exchange(kept, kept->next));
      }
    }
    bytes = FramePool::kMostKept;  // what ends after the thread's own end is not kept
    heads = {};
  }

  std::array<Kept*, kClasses> heads{};
  std::size_t bytes = 0;
};

thread_local Lists lists;

constexpr std::size_t class_of(std::size_t bytes) {
  return (bytes - 1) / kStep;
}

}  // namespace

void* FramePool::take(std::size_t bytes) {
  const std::size_t of = class_of(bytes);
  if (of >= kClasses || lists.heads[of] == nullptr) {
    return ::operator new((of + 1) * kStep);
  }
  Kept* const kept = lists.heads[of];
  lists.heads[of] = kept->next;
  lists.bytes -= (of + 1) * kStep;
  return kept;
}

void FramePool::give(void* frame, std::size_t bytes) noexcept {
  const std::size_t of = class_of(bytes);
  const std::size_t size = (of + 1) * kStep;
  if (!kKeeps || of >= kClasses || lists.bytes + size > kMostKept) {
    ::operator delete(frame);
    return;
  }
  lists.heads[of] = new (frame) Kept{lists.heads[of]};
  lists.bytes += size;
}

}  // namespace rolter::http
