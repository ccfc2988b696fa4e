#pragma once

#include <string>

#include "rolter/base/error.h"

namespace rolter::cli {

/// A whole file, decompressed when its name ends in .gz. The error names the file.
[[nodiscard]] Result<std::string> read_trace_file(const std::string& path);

}  // namespace rolter::cli
