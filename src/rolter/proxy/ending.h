#pragma once

#include <cstdint>

namespace rolter::proxy {

/// How a request left the client's connection.
enum class Ending : std::uint8_t {
  kReusable,  // answered in full
  kClose,     // answered in full, and the connection ends with it
  kBroken,    // an answer begun and not finished, or nobody there to answer
};

}  // namespace rolter::proxy
