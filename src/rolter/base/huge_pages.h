#pragma once

#include <cstddef>

namespace rolter {

/// Asks the kernel to back this memory, not touched yet, with huge pages where it can: tables of
/// many megabytes that are probed at random spend most of their time on TLB misses otherwise. A
/// hint: does nothing for less than a megabyte or where it is not supported.
void prefer_huge_pages(void* memory, std::size_t bytes);

}  // namespace rolter
