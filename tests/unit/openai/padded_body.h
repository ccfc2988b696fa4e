#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string_view>

#include "rolter/openai/request_view.h"

namespace rolter::openai {

/// A body with exactly the padding that a parser asks for, so that sanitizers see any byte read
/// beyond it. The padding is full of brackets, which must not be taken for JSON.
class PaddedBody {
 public:
  explicit PaddedBody(std::string_view text)
      : size_(text.size()),
        bytes_(std::make_unique_for_overwrite<char[]>(size_ + RequestParser::kPadding)) {
    std::copy(text.begin(), text.end(), bytes_.get());
    std::fill_n(bytes_.get() + size_, RequestParser::kPadding, '}');
  }

  [[nodiscard]] std::string_view view() const { return {bytes_.get(), size_}; }

 private:
  std::size_t size_;
  std::unique_ptr<char[]> bytes_;
};

}  // namespace rolter::openai
