#include <memory>
#include <string>

#include "rolter/openai/answer_reader.h"
#include "rolter/openai/byte_search.h"
#include "rolter/openai/sse_lines.h"
#include "rolter/openai/stream_observer.h"

namespace rolter::openai {
namespace {

constexpr std::string_view kData = "data";
constexpr std::string_view kDone = "[DONE]";

/// What a line adds to its event's data: nothing when it is another field.
bool strip_data_field(std::string_view& line) {
  if (!line.starts_with(kData)) {
    return false;
  }
  line.remove_prefix(kData.size());
  if (line.empty()) {
    return true;
  }
  if (!line.starts_with(':')) {
    return false;
  }
  line.remove_prefix(1);
  line.remove_prefix(line.starts_with(' ') ? 1 : 0);
  return true;
}

/// An event counts once its empty line has come, as clients have it. The usual event lies whole in
/// one call's bytes and is looked at in place.
class SseObserver final : public AnswerObserver {
 public:
  SseObserver(AnswerFamily family, ObserverOptions options)
      : reader_(family, AnswerForm::kEvents, options), lines_(*this) {}

  void feed(std::string_view bytes) override {
    lines_.feed(bytes);
    if (in_place_) {
      event_ = in_place_data_;  // its empty line is still to come
      in_place_ = false;
    }
  }

  [[nodiscard]] bool saw_content() const override { return reader_.saw_content(); }
  [[nodiscard]] bool saw_end() const override { return reader_.saw_end(); }
  [[nodiscard]] bool is_empty_abort() const override { return reader_.is_empty_abort(); }
  [[nodiscard]] std::optional<Usage> usage() const override { return reader_.usage(); }
  [[nodiscard]] std::string_view response_id() const override { return reader_.response_id(); }
  [[nodiscard]] std::string_view reply_text() const override { return reader_.reply_text(); }

  void on_line(std::string_view line, bool lasts) {
    strip_byte_order_mark(line);
    if (line.empty()) {
      end_event();
    } else if (line.front() == ':') {
      reader_.note_content();
    } else if (strip_data_field(line)) {
      add_data(line, lasts);
    }
  }

  void on_long_line(std::string_view piece) {
    if (!in_long_line_) {
      in_long_line_ = true;
      strip_byte_order_mark(piece);
      if (piece.front() == ':') {
        reader_.note_content();
      }
      long_line_is_data_ = strip_data_field(piece);
      if (long_line_is_data_) {
        read_as_it_passes();
        begin_data_line();
      }
    }
    if (long_line_is_data_) {
      reader_.feed(piece);
    }
  }

  void on_long_line_end() { in_long_line_ = false; }

 private:
  static constexpr std::size_t kLongestEvent = std::size_t{32} * 1024;

  void strip_byte_order_mark(std::string_view& line) {
    if (first_line_ && line.starts_with(kByteOrderMark)) {
      line.remove_prefix(kByteOrderMark.size());
    }
    first_line_ = false;
  }

  void add_data(std::string_view line, bool lasts) {
    if (!has_data_ && lasts) {
      has_data_ = true;
      in_place_ = true;
      in_place_data_ = line;
      return;
    }
    if (in_place_) {
      event_ = in_place_data_;
      in_place_ = false;
    }
    if (event_.size() + line.size() > kLongestEvent) {
      read_as_it_passes();
    }
    begin_data_line();
    if (passes_) {
      reader_.feed(line);
    } else {
      event_.append(line);
    }
  }

  /// The data lines of an event are joined by a newline.
  void begin_data_line() {
    if (has_data_ && passes_) {
      reader_.feed("\n");
    } else if (has_data_) {
      event_.push_back('\n');
    }
    has_data_ = true;
  }

  /// Stops keeping the event, which is long, and reads what there is of it.
  void read_as_it_passes() {
    if (!passes_) {
      passes_ = true;
      reader_.restart();
      reader_.feed(in_place_ ? in_place_data_ : event_);
      in_place_ = false;
      event_.clear();
    }
  }

  void end_event() {
    if (has_data_ && !passes_) {
      const std::string_view data = in_place_ ? in_place_data_ : event_;
      if (data == kDone) {
        reader_.note_end();
      } else {
        reader_.read_event(data);
      }
    }
    event_.clear();
    has_data_ = false;
    in_place_ = false;
    passes_ = false;
  }

  AnswerReader reader_;
  SseLines<SseObserver> lines_;
  std::string event_;               // data of the current event that does not lie in place
  std::string_view in_place_data_;  // data that lies in the bytes being fed
  bool in_place_ = false;
  bool has_data_ = false;
  bool passes_ = false;  // the event is too long to be kept: it is read as it passes
  bool first_line_ = true;
  bool in_long_line_ = false;
  bool long_line_is_data_ = false;
};

}  // namespace

std::unique_ptr<AnswerObserver> make_sse_observer(Endpoint endpoint, ObserverOptions options) {
  return std::make_unique<SseObserver>(family_of(endpoint), options);
}

}  // namespace rolter::openai
