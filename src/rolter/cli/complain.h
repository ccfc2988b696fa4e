#pragma once

#include <cstdio>
#include <string>

namespace rolter::cli {

/// Says on stderr why a command cannot go on. Returns its exit code.
inline int complain(const std::string& message) {
  std::fprintf(stderr, "rolter: error: %s\n", message.c_str());
  return 1;
}

}  // namespace rolter::cli
