#include "rolter/telemetry/app_log.h"

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>

#include <cstddef>
#include <mutex>
#include <string>

#include "rolter/telemetry/log_escape.h"

namespace rolter::telemetry {
namespace {

/// A message may quote a body or a file: longer than a field, and still bounded.
constexpr std::size_t kMostMessageBytes = 4096;

class QueueSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit QueueSink(LogQueue& queue) : queue_(queue) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t formatted;
    formatter_->format(message, formatted);
    line_.assign(formatted.data(), formatted.size());
    queue_.push(line_);
  }
  void flush_() override {}

 private:
  LogQueue& queue_;
  std::string line_;
};

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarn:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

}  // namespace

/// One logger per format, so that a line is wholly of the one or the other while a reload changes
/// it.
struct AppLog::Backend {
  explicit Backend(LogQueue& queue)
      : json("rolter", std::make_shared<QueueSink>(queue)),
        text("rolter", std::make_shared<QueueSink>(queue)) {
    // The message brings its own quotes in JSON.
    set_pattern(json, R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l","message":%v})");
    set_pattern(text, "%Y-%m-%dT%H:%M:%S.%eZ %l %v");
  }

  static void set_pattern(spdlog::logger& logger, const char* pattern) {
    logger.set_formatter(
        std::make_unique<spdlog::pattern_formatter>(pattern, spdlog::pattern_time_type::utc, "\n"));
  }

  spdlog::logger json;
  spdlog::logger text;
};

AppLog::AppLog(LogQueue& queue, LogLevel level, LogFormat format)
    : backend_(std::make_unique<Backend>(queue)), format_(format) {
  configure(level, format);
}

AppLog::~AppLog() = default;

bool AppLog::enabled(LogLevel level) const {
  return backend_->json.should_log(to_spdlog(level));
}

void AppLog::configure(LogLevel level, LogFormat format) {
  backend_->json.set_level(to_spdlog(level));
  backend_->text.set_level(to_spdlog(level));
  format_.store(format, std::memory_order_relaxed);
}

void AppLog::write(LogLevel level, std::string_view message) {
  if (!enabled(level)) {
    return;
  }
  std::string text;
  append_json_string(text, message, kMostMessageBytes);
  std::string_view shown = text;
  const bool is_text = format_.load(std::memory_order_relaxed) == LogFormat::kText;
  if (is_text) {  // escaped all the same, but a sentence needs no quotes
    shown = shown.substr(1, shown.size() - 2);
  }
  spdlog::logger& logger = is_text ? backend_->text : backend_->json;
  logger.log(to_spdlog(level), spdlog::string_view_t{shown.data(), shown.size()});
}

}  // namespace rolter::telemetry
