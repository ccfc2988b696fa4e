#pragma once

#include <string_view>

namespace rolter::proxy {

/// Name of the field by which a caller's trace goes on at the replica (W3C Trace Context). It is
/// forwarded as it is, like `tracestate`.
inline constexpr std::string_view kTraceField = "traceparent";

/// The trace's id in a `traceparent`, 32 hexadecimal digits, as a part of it; "" when
/// the field is malformed (W3C Trace Context, section 3.2.2; versions to come may have more fields
/// at the end).
[[nodiscard]] std::string_view trace_id_of(std::string_view traceparent);

}  // namespace rolter::proxy
