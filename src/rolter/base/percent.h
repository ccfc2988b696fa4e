#pragma once

#include <string>
#include <string_view>

namespace rolter {

/// Without percent-encoding (RFC 3986, section 2.1). A "%" that two hexadecimal digits do not
/// follow stands for itself.
[[nodiscard]] std::string percent_decoded(std::string_view text);

}  // namespace rolter
