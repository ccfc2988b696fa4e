#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

namespace rolter::kvcache {

/// No cell of a slab.
inline constexpr std::uint32_t kNoId = std::numeric_limits<std::uint32_t>::max();

/// Cells of one type under 32-bit ids, half the size of pointers. A cell never moves, so references
/// stay good while others come and go. Freed cells are taken again first, linked through the member
/// kLink; memory goes back only with the slab. A cell keeps its content until it is taken again:
/// whoever frees one clears what it owns.
template <typename T, std::uint32_t T::* kLink>
class Slab {
 public:
  [[nodiscard]] T& operator[](std::uint32_t id) { return chunks_[id / kChunk][id % kChunk]; }
  [[nodiscard]] const T& operator[](std::uint32_t id) const {
    return chunks_[id / kChunk][id % kChunk];
  }

  [[nodiscard]] std::uint32_t take() {
    ++size_;
    if (free_ != kNoId) {
      const std::uint32_t id = free_;
      free_ = (*this)[id].*kLink;
      return id;
    }
    if (used_ % kChunk == 0) {
      chunks_.push_back(std::make_unique<T[]>(kChunk));
    }
    return used_++;
  }

  void give_back(std::uint32_t id) {
    --size_;
    (*this)[id].*kLink = free_;
    free_ = id;
  }

  /// Cells in use.
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  static constexpr std::uint32_t kChunk = 1024;

  std::vector<std::unique_ptr<T[]>> chunks_;
  std::uint32_t used_ = 0;  // ids ever handed out
  std::uint32_t free_ = kNoId;
  std::size_t size_ = 0;
};

}  // namespace rolter::kvcache
