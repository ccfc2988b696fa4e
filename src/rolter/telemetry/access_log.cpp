#include "rolter/telemetry/access_log.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <chrono>
#include <iterator>

#include "rolter/telemetry/log_escape.h"

namespace rolter::telemetry {
namespace {

double milliseconds(Duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

/// Writes `name: value` pairs the way the format has it.
class LineWriter {
 public:
  LineWriter(std::string& out, LogFormat format) : out_(out), json_(format == LogFormat::kJson) {}

  void text(std::string_view name, std::string_view value) {
    if (value.empty()) {
      return;
    }
    begin(name);
    if (json_) {
      append_json_string(out_, value);
    } else {
      append_text_value(out_, value);
    }
  }

  /// Digits, however many.
  void digits(std::string_view name, std::string_view value) {
    if (!value.empty()) {
      begin(name);
      out_ += json_ ? "\"" : "";
      out_ += value;
      out_ += json_ ? "\"" : "";
    }
  }

  void number(std::string_view name, std::optional<std::uint64_t> value) {
    if (value) {
      number(name, *value);
    }
  }

  void number(std::string_view name, std::uint64_t value) {
    begin(name);
    fmt::format_to(std::back_inserter(out_), FMT_COMPILE("{}"), value);
  }

  void decimal(std::string_view name, double value) {
    begin(name);
    fmt::format_to(std::back_inserter(out_), FMT_COMPILE("{:.3f}"), value);
  }

 private:
  void begin(std::string_view name) {
    if (json_) {
      out_ += ",\"";
      out_ += name;
      out_ += "\":";
    } else {
      out_ += ' ';
      out_ += name;
      out_ += '=';
    }
  }

  std::string& out_;
  bool json_;
};

}  // namespace

void append_access_line(std::string& out, LogFormat format, const AccessRecord& record) {
  const bool json = format == LogFormat::kJson;
  out += json ? R"({"time":")" : "";
  append_time(out, record.time);
  out += json ? R"(","level":"info","event":"request")" : " info request";
  LineWriter line{out, format};
  line.text("request_id", record.request_id);
  line.digits("trace_id", record.trace_id);
  line.text("client", record.client);
  line.text("key", record.key);
  line.text("method", record.method);
  line.text("path", record.path);
  line.text("route", record.route);
  line.text("target", record.target);
  line.text("reason", record.reason);
  if (!record.source.empty()) {
    line.text("source", record.source);
  }
  if (record.matched) {
    line.decimal("matched", *record.matched);
  }
  line.number("status", static_cast<std::uint64_t>(record.status));
  line.number("bytes_in", record.bytes_in);
  line.number("bytes_out", record.bytes_out);
  if (record.ttft) {
    line.decimal("ttft_ms", milliseconds(*record.ttft));
  }
  line.decimal("duration_ms", milliseconds(record.duration));
  line.number("retries", record.retries);
  line.text("error", record.error);
  line.number("prompt_tokens", record.prompt_tokens);
  line.number("cached_tokens", record.cached_tokens);
  line.number("completion_tokens", record.completion_tokens);
  line.number("prompt_bytes", record.prompt_bytes);
  line.digits("blocks", record.blocks);
  out += json ? "}\n" : "\n";
}

}  // namespace rolter::telemetry
