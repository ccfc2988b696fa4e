#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "rolter/openai/request_view.h"
#include "rolter/proxy/loop_state.h"

namespace rolter::proxy {

/// A request whose body has been read. The view's memory belongs to the loop's parser and is lost
/// when another request is parsed, as happens while this one waits: view() then parses again, which
/// the first pick of a request on a pooled connection never needs.
class ParsedRequest {
 public:
  ParsedRequest(LoopState& loop, openai::Endpoint endpoint, std::string_view content_type,
                std::string_view body)
      : loop_(loop), endpoint_(endpoint), content_type_(content_type), body_(body) {}

  [[nodiscard]] Result<void> parse() {
    auto parsed = loop_.parse(endpoint_, content_type_, body_);
    if (!parsed) {
      return std::unexpected(std::move(parsed.error()));
    }
    view_ = *parsed;
    parse_ = loop_.parses;
    return {};
  }

  /// Good until the next suspension. Only after a successful parse().
  [[nodiscard]] const openai::RequestView& view() {
    if (parse_ != loop_.parses && !parse()) {
      // The same bytes parsed before; an empty prompt routes by load.
      view_ = {};
    }
    return view_;
  }

  [[nodiscard]] openai::Endpoint endpoint() const { return endpoint_; }
  [[nodiscard]] std::string_view body() const { return body_; }

 private:
  LoopState& loop_;
  openai::Endpoint endpoint_;
  std::string_view content_type_;
  std::string_view body_;
  openai::RequestView view_;
  std::uint64_t parse_ = 0;
};

}  // namespace rolter::proxy
