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

struct AppLog::Backend {
  explicit Backend(LogQueue& queue) : logger("rolter", std::make_shared<QueueSink>(queue)) {}
  spdlog::logger logger;
};

AppLog::AppLog(LogQueue& queue, LogLevel level, LogFormat format)
    : backend_(std::make_unique<Backend>(queue)), format_(format) {
  // The message brings its own quotes in JSON.
  const char* pattern = format == LogFormat::kJson
                            ? R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l","message":%v})"
                            : "%Y-%m-%dT%H:%M:%S.%eZ %l %v";
  backend_->logger.set_formatter(
      std::make_unique<spdlog::pattern_formatter>(pattern, spdlog::pattern_time_type::utc, "\n"));
  set_level(level);
}

AppLog::~AppLog() = default;

bool AppLog::enabled(LogLevel level) const {
  return backend_->logger.should_log(to_spdlog(level));
}

void AppLog::set_level(LogLevel level) {
  backend_->logger.set_level(to_spdlog(level));
}

void AppLog::write(LogLevel level, std::string_view message) {
  if (!enabled(level)) {
    return;
  }
  std::string text;
  append_json_string(text, message, kMostMessageBytes);
  std::string_view shown = text;
  if (format_ == LogFormat::kText) {  // escaped all the same, but a sentence needs no quotes
    shown = shown.substr(1, shown.size() - 2);
  }
  backend_->logger.log(to_spdlog(level), spdlog::string_view_t{shown.data(), shown.size()});
}

}  // namespace rolter::telemetry
