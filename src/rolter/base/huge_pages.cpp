#include "rolter/base/huge_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace rolter {

void prefer_huge_pages(void* memory, std::size_t bytes) {
  constexpr std::size_t kWorthIt = std::size_t{1} << 20;
  if (bytes < kWorthIt) {
    return;
  }
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(memory) & ~(page - 1);
  const std::uintptr_t end = (reinterpret_cast<std::uintptr_t>(memory) + bytes) & ~(page - 1);
  // Neighbouring allocations that were all advised become one range for the kernel.
  madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}

}  // namespace rolter
