#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "rolter/openai/request_view.h"

namespace rolter::openai {

/// A body to send, in pieces: what stands before the model, the model, what stands after it.
struct SplicedBody {
  std::array<std::string_view, 3> pieces;

  [[nodiscard]] std::size_t size() const {
    return pieces[0].size() + pieces[1].size() + pieces[2].size();
  }
};

/// The body with its model's name replaced and every other byte as it was. When the name is the
/// same already, even its spelling stays. The pieces point into `body` and `written`, which
/// receives the new name as the body wants it.
[[nodiscard]] SplicedBody splice_model(std::string_view body, const RequestView& view,
                                       std::string_view model, std::string& written);

}  // namespace rolter::openai
