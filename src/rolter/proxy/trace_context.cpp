#include "rolter/proxy/trace_context.h"

#include <algorithm>
#include <cstddef>

namespace rolter::proxy {
namespace {

constexpr std::size_t kVersionSize = 2;
constexpr std::size_t kTraceIdSize = 32;
constexpr std::size_t kParentIdSize = 16;
constexpr std::size_t kFlagsSize = 2;

bool is_lower_hex(std::string_view text) {
  return std::ranges::all_of(
      text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool is_zero(std::string_view text) {
  return text.find_first_not_of('0') == std::string_view::npos;
}

/// Takes a part of `size` digits off the front; "" when it is not there. A "-" or the end follows.
std::string_view take_part(std::string_view& rest, std::size_t size) {
  const std::string_view part = rest.substr(0, rest.find('-'));
  if (part.size() != size || !is_lower_hex(part)) {
    return {};
  }
  rest.remove_prefix(std::min(size + 1, rest.size()));
  return part;
}

}  // namespace

std::string_view trace_id_of(std::string_view traceparent) {
  std::string_view rest = traceparent;
  const std::string_view version = take_part(rest, kVersionSize);
  const std::string_view trace = take_part(rest, kTraceIdSize);
  const std::string_view parent = take_part(rest, kParentIdSize);
  const std::string_view flags = take_part(rest, kFlagsSize);
  const bool whole = !version.empty() && !trace.empty() && !parent.empty() && !flags.empty();
  const bool ends_there =
      traceparent.size() == kVersionSize + kTraceIdSize + kParentIdSize + kFlagsSize + 3;
  if (!whole || version == "ff" || (version == "00" && !ends_there) || is_zero(trace) ||
      is_zero(parent)) {
    return {};
  }
  return trace;
}

}  // namespace rolter::proxy
