#pragma once

#include <filesystem>

namespace rolter {

/// The folder tests/data of this source tree.
[[nodiscard]] std::filesystem::path test_data();

}  // namespace rolter
