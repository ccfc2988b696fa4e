#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "rolter/openai/json_document.h"

namespace rolter::openai {

/// Takes out of a text/event-stream the event that is there only because the gateway asked for it:
/// the one whose `choices` are empty and whose `usage` is an object (stream_options.include_usage).
/// Every other byte passes, in order, however the stream is cut.
///
/// An event is passed on when its empty line has come, comments and events of more than kLongest at
/// once. Memory: one event, at most kLongest.
class UsageFilter {
 public:
  static constexpr std::size_t kLongest = std::size_t{32} * 1024;

  /// Appends what the client is to see.
  void feed(std::string_view bytes, std::string& out);
  /// The stream has ended: what is left of it is no whole event.
  void finish(std::string& out);

 private:
  void take(std::string_view piece, std::string& out);
  void end_line(std::string& out);
  [[nodiscard]] bool is_usage_alone();
  [[nodiscard]] bool reads_usage_alone(std::string_view json);

  JsonDocument document_;
  std::string event_;      // what has come of it
  std::string json_;       // its data, with room behind it
  bool passes_ = false;    // the event is too long: it is not kept
  bool after_cr_ = false;  // a line feed would belong to the line before
  bool dropped_ = false;   // the event that ended last
  bool in_line_ = false;
};

}  // namespace rolter::openai
