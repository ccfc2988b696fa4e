#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "rolter/openai/request_view.h"

namespace rolter::openai {

/// A body to send, in pieces: what is written anew and the bytes between.
struct SplicedBody {
  std::array<std::string_view, 5> pieces;

  [[nodiscard]] std::size_t size() const {
    std::size_t sum = 0;
    for (const std::string_view piece : pieces) {
      sum += piece.size();
    }
    return sum;
  }
};

/// The body with its model's name replaced and every other byte as it was. When the name is the
/// same already, even its spelling stays. The pieces point into `body` and `written`, which
/// receives the new name as the body wants it.
[[nodiscard]] SplicedBody splice_model(std::string_view body, const RequestView& view,
                                       std::string_view model, std::string& written);

/// The same, and RequestView::asking_usage.
[[nodiscard]] SplicedBody splice_model_and_usage(std::string_view body, const RequestView& view,
                                                 std::string_view model, std::string& written);

}  // namespace rolter::openai
