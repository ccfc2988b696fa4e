#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "rolter/openai/byte_search.h"

namespace rolter::openai {

/// Cuts a stream into lines that end with LF, CRLF or a bare CR (WHATWG HTML, server-sent events),
/// however the stream itself is cut. Lines come whole, without their ends; one longer than
/// kLongest may come in pieces, the first of them kLongest bytes long.
///
/// `Sink` has on_line(line), on_long_line(piece) and on_long_line_end(). A line is good until the
/// sink returns or, when it lay whole in one call's bytes, until feed() returns: on_line says which
/// by its second argument.
template <typename Sink>
class SseLines {
 public:
  static constexpr std::size_t kLongest = std::size_t{32} * 1024;

  explicit SseLines(Sink& sink) : sink_(sink) {}

  void feed(std::string_view bytes) {
    if (after_cr_ && !bytes.empty()) {
      after_cr_ = false;
      bytes.remove_prefix(bytes.front() == '\n' ? 1 : 0);
    }
    const char* at = bytes.data();
    const char* const end = at + bytes.size();
    const char* lf = at;  // the next LF, found once however many CRs stand before it
    while (at < end) {
      if (lf <= at) {
        lf = find_byte(at, end, '\n');
      }
      const char* const stop = find_byte(at, lf, '\r');
      if (stop == end) {
        keep({at, static_cast<std::size_t>(end - at)});
        return;
      }
      end_line({at, static_cast<std::size_t>(stop - at)});
      at = stop + 1;
      if (*stop == '\r') {
        after_cr_ = at == end;
        at += at < end && *at == '\n' ? 1 : 0;
      }
    }
  }

 private:
  void keep(std::string_view piece) {
    if (!long_ && kept_.size() + piece.size() > kLongest) {
      const std::size_t room = kLongest - kept_.size();
      kept_.append(piece.substr(0, room));
      piece.remove_prefix(room);
      long_ = true;
      sink_.on_long_line(kept_);
      kept_.clear();
    }
    if (long_) {
      sink_.on_long_line(piece);
    } else {
      kept_.append(piece);
    }
  }

  void end_line(std::string_view rest) {
    if (long_ || !kept_.empty()) {
      keep(rest);
    }
    if (long_) {
      sink_.on_long_line_end();
      long_ = false;
    } else if (kept_.empty()) {
      sink_.on_line(rest, /*lasts=*/true);
    } else {
      sink_.on_line(kept_, /*lasts=*/false);
      kept_.clear();
    }
  }

  Sink& sink_;
  std::string kept_;  // the part of a line that has come so far
  bool long_ = false;
  bool after_cr_ = false;
};

}  // namespace rolter::openai
