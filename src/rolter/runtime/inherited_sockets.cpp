#include "rolter/runtime/inherited_sockets.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace rolter::runtime {
namespace {

constexpr int kFirst = 3;  // SD_LISTEN_FDS_START

std::optional<int> number(const char* variable) {
  const char* const text = std::getenv(variable);
  if (text == nullptr) {
    return std::nullopt;
  }
  const std::string_view digits(text);
  int value = 0;
  const auto [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool whole = ec == std::errc() && end == digits.data() + digits.size();
  return whole ? std::optional(value) : std::nullopt;
}

}  // namespace

std::vector<int> take_inherited_sockets() {
  std::vector<int> sockets;
  if (number("LISTEN_PID") == static_cast<int>(::getpid())) {
    const int count = number("LISTEN_FDS").value_or(0);
    for (int socket = kFirst; socket < kFirst + count; ++socket) {
      if (::fcntl(socket, F_SETFD, FD_CLOEXEC) == 0) {
        sockets.push_back(socket);
      }
    }
  }
  for (const char* variable : {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"}) {
    ::unsetenv(variable);
  }
  return sockets;
}

}  // namespace rolter::runtime
