#include "rolter/openai/error_body.h"

#include <array>
#include <cstddef>

namespace rolter::openai {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

/// The length of the UTF-8 sequence at the start of `text`, 0 when there is no valid one
/// (RFC 3629: neither overlong, nor a surrogate, nor beyond U+10FFFF).
std::size_t utf8_length(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto continues = [&](std::size_t from, std::size_t to) {
    if (text.size() <= to) {
      return false;
    }
    for (std::size_t i = from; i <= to; ++i) {
      if ((byte(i) & 0xC0) != 0x80) {
        return false;
      }
    }
    return true;
  };
  const unsigned char lead = byte(0);
  if (lead < 0x80) {
    return 1;
  }
  if (lead >= 0xC2 && lead <= 0xDF) {
    return continues(1, 1) ? 2 : 0;
  }
  if (lead >= 0xE0 && lead <= 0xEF) {
    const bool good =
        continues(1, 2) && !(lead == 0xE0 && byte(1) < 0xA0) && !(lead == 0xED && byte(1) >= 0xA0);
    return good ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const bool good =
        continues(1, 3) && !(lead == 0xF0 && byte(1) < 0x90) && !(lead == 0xF4 && byte(1) >= 0x90);
    return good ? 4 : 0;
  }
  return 0;
}

void append_control(std::string& out, char c) {
  constexpr std::string_view kHex = "0123456789abcdef";
  switch (c) {
    case '\n':
      out += "\\n";
      break;
    case '\r':
      out += "\\r";
      break;
    case '\t':
      out += "\\t";
      break;
    default:
      out += "\\u00";
      out += kHex[static_cast<unsigned char>(c) >> 4];
      out += kHex[static_cast<unsigned char>(c) & 0xF];
  }
}

/// Anthropic's words for a status; its clients choose their exception by them.
std::string_view anthropic_type(int status) {
  switch (status) {
    case 400:
    case 422:
      return "invalid_request_error";
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 408:
    case 504:
      return "timeout_error";
    case 413:
      return "request_too_large";
    case 429:
      return "rate_limit_error";
    case 503:
    case 529:
      return "overloaded_error";
    default:
      return status < 500 ? "invalid_request_error" : "api_error";
  }
}

void append_member(std::string& out, std::string_view key, std::string_view value) {
  out += '"';
  out += key;
  out += "\":";
  append_json_string(out, value);
}

void append_nullable(std::string& out, std::string_view key, std::string_view value) {
  if (!value.empty()) {
    append_member(out, key, value);
    return;
  }
  out += '"';
  out += key;
  out += "\":null";
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const char c = text.front();
    const std::size_t length = utf8_length(text);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      append_control(out, c);
    } else if (length == 0) {
      out += kReplacement;
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out += '"';
}

std::string error_body(ApiShape shape, const ApiError& error, std::string_view request_id) {
  std::string body;
  body.reserve(160 + error.message.size());
  if (shape == ApiShape::kAnthropic) {
    body += R"({"type":"error","error":{)";
    append_member(body, "type", anthropic_type(error.status));
    body += ',';
    append_member(body, "message", error.message);
  } else {
    body += R"({"error":{)";
    append_member(body, "message", error.message);
    body += ',';
    append_member(body, "type", error.type);
    body += ',';
    append_nullable(body, "param", error.param);
    body += ',';
    append_nullable(body, "code", error.code);
  }
  body += '}';
  if (!request_id.empty()) {
    body += ',';
    append_member(body, "request_id", request_id);
  }
  body += '}';
  return body;
}

}  // namespace rolter::openai
