#include "rolter/config/ip_address.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <span>

#include "rolter/base/ascii.h"
#include "rolter/base/percent.h"

namespace rolter::config {
namespace {

/// One part of an IPv4 literal: decimal, octal after "0", hexadecimal after "0x".
std::optional<std::uint32_t> parse_part(std::string_view part) {
  int base = 10;
  if (part.starts_with("0x")) {
    part.remove_prefix(2);
    base = 16;
  } else if (part.size() > 1 && part.starts_with('0')) {
    part.remove_prefix(1);
    base = 8;
  }
  std::uint32_t value = 0;
  const auto [end, fault] = std::from_chars(part.data(), part.data() + part.size(), value, base);
  if (part.empty() || fault != std::errc{} || end != part.data() + part.size()) {
    return std::nullopt;
  }
  return value;
}

/// As inet_aton: one to four parts, the last of which fills all the bytes that are left.
std::optional<IpAddress> parse_v4(std::string_view host) {
  std::uint32_t address = 0;
  for (int shift = 24; shift >= 0; shift -= 8) {
    const std::size_t dot = host.find('.');
    const auto part = parse_part(host.substr(0, dot));
    if (!part) {
      return std::nullopt;
    }
    if (dot == std::string_view::npos) {
      if (shift < 24 && *part >= (1U << (shift + 8))) {
        return std::nullopt;
      }
      address |= *part;
      return IpAddress(IpAddress::V4{
          static_cast<std::uint8_t>(address >> 24), static_cast<std::uint8_t>(address >> 16),
          static_cast<std::uint8_t>(address >> 8), static_cast<std::uint8_t>(address)});
    }
    if (*part > 255) {
      return std::nullopt;
    }
    address |= *part << shift;
    host.remove_prefix(dot + 1);
  }
  return std::nullopt;
}

/// The four decimal numbers at the end of "::ffff:10.1.2.3": no other form counts there.
std::optional<IpAddress> parse_dotted(std::string_view text) {
  const bool is_plain = std::ranges::count(text, '.') == 3 &&
                        text.find_first_not_of("0123456789.") == std::string_view::npos;
  for (std::size_t i = 0; is_plain && i + 1 < text.size(); ++i) {
    const bool starts_part = i == 0 || text[i - 1] == '.';
    if (starts_part && text[i] == '0' && text[i + 1] != '.') {
      return std::nullopt;
    }
  }
  return is_plain ? parse_v4(text) : std::nullopt;
}

/// Reads "2001:db8:1" into `out`; the number of bytes it fills. Empty text fills none.
std::optional<std::size_t> parse_groups(std::string_view text, std::span<std::uint8_t> out) {
  std::size_t filled = 0;
  while (!text.empty()) {
    const std::size_t colon = text.find(':');
    const std::string_view group = text.substr(0, colon);
    if (colon == std::string_view::npos && group.find('.') != std::string_view::npos) {
      const auto dotted = parse_dotted(group);
      if (!dotted || filled + 4 > out.size()) {
        return std::nullopt;
      }
      std::ranges::copy(dotted->v4(), out.begin() + static_cast<std::ptrdiff_t>(filled));
      return filled + 4;
    }
    std::uint16_t value = 0;
    const auto [end, fault] = std::from_chars(group.data(), group.data() + group.size(), value, 16);
    const bool is_read = fault == std::errc{} && end == group.data() + group.size();
    if (!is_read || group.size() > 4 || filled + 2 > out.size()) {
      return std::nullopt;
    }
    out[filled++] = static_cast<std::uint8_t>(value >> 8);
    out[filled++] = static_cast<std::uint8_t>(value);
    if (colon == std::string_view::npos) {
      break;
    }
    text.remove_prefix(colon + 1);
    if (text.empty()) {
      return std::nullopt;
    }
  }
  return filled;
}

std::optional<IpAddress> parse_v6(std::string_view text) {
  IpAddress::V6 bytes{};
  const std::size_t gap = text.find("::");
  if (gap == std::string_view::npos) {
    return parse_groups(text, bytes) == bytes.size() ? std::optional(IpAddress(bytes))
                                                     : std::nullopt;
  }
  IpAddress::V6 behind{};
  const std::string_view head_text = text.substr(0, gap);
  const auto head = parse_groups(head_text, bytes);
  const auto tail = parse_groups(text.substr(gap + 2), behind);
  // "::" stands for one group at least, and a dotted address only for the last two.
  const bool fits = head && tail && *head + *tail <= bytes.size() - 2 &&
                    head_text.find('.') == std::string_view::npos;
  if (!fits) {
    return std::nullopt;
  }
  std::copy_n(behind.begin(), *tail, bytes.end() - static_cast<std::ptrdiff_t>(*tail));
  return IpAddress(bytes);
}

/// RFC 5952: lower case, the first of the longest runs of zero groups as "::".
std::string format_v6(const IpAddress::V6& bytes) {
  const auto group = [&bytes](std::size_t i) { return bytes[2 * i] * 256 + bytes[2 * i + 1]; };
  std::size_t gap = 8;
  std::size_t gap_size = 1;
  for (std::size_t i = 0; i < 8; ++i) {
    std::size_t run = 0;
    while (i + run < 8 && group(i + run) == 0) {
      ++run;
    }
    if (run > gap_size) {
      gap = i;
      gap_size = run;
    }
  }
  std::string text;
  for (std::size_t i = 0; i < 8; ++i) {
    if (i == gap) {
      text += "::";
      i += gap_size - 1;
      continue;
    }
    text += text.empty() || text.ends_with(':') ? "" : ":";
    text += fmt::format("{:x}", group(i));
  }
  return text;
}

bool starts_with(const IpAddress::V6& bytes, std::span<const std::uint8_t> prefix) {
  return std::equal(prefix.begin(), prefix.end(), bytes.begin());
}

}  // namespace

IpAddress IpAddress::unwrapped() const {
  static constexpr std::array<std::uint8_t, 12> kCompatible{};
  static constexpr std::array<std::uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  static constexpr std::array<std::uint8_t, 12> kNat64{0x00, 0x64, 0xff, 0x9b};
  static constexpr std::array<std::uint8_t, 2> k6to4{0x20, 0x02};
  if (is_v4_) {
    return *this;
  }
  if (starts_with(bytes_, kCompatible) || starts_with(bytes_, kMapped) ||
      starts_with(bytes_, kNat64)) {
    return IpAddress(V4{bytes_[12], bytes_[13], bytes_[14], bytes_[15]});
  }
  if (starts_with(bytes_, k6to4)) {
    return IpAddress(V4{bytes_[2], bytes_[3], bytes_[4], bytes_[5]});
  }
  return *this;
}

std::string to_string(const IpAddress& address) {
  return address.is_v4() ? fmt::format("{}", fmt::join(address.v4(), "."))
                         : format_v6(address.v6());
}

std::string normalize_host(std::string_view host) {
  if (host.find(':') != std::string_view::npos) {
    host = host.substr(0, host.find('%'));  // a zone id may look percent-encoded
  }
  std::string text = percent_decoded(host);
  std::ranges::transform(text, text.begin(), to_lower);
  text.erase(0, text.starts_with('[') ? 1 : 0);
  text.resize(std::min({text.find(']'), text.find('%'), text.size()}));
  if (text.ends_with('.')) {
    text.pop_back();
  }
  return text;
}

std::optional<IpAddress> parse_ip_literal(std::string_view host) {
  const std::string text = normalize_host(host);
  return text.find(':') == std::string::npos ? parse_v4(text) : parse_v6(text);
}

}  // namespace rolter::config
