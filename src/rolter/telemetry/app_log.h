#pragma once

#include <fmt/format.h>

#include <atomic>
#include <memory>
#include <string_view>
#include <utility>

#include "rolter/telemetry/log_format.h"
#include "rolter/telemetry/log_queue.h"

namespace rolter::telemetry {

/// What the gateway has to say beside the access log, on the same way out: one line per message,
/// never blocking the caller. Any thread. Messages are escaped; they must hold no secret.
class AppLog {
 public:
  AppLog(LogQueue& queue, LogLevel level, LogFormat format);
  ~AppLog();
  AppLog(const AppLog&) = delete;
  AppLog& operator=(const AppLog&) = delete;

  [[nodiscard]] bool enabled(LogLevel level) const;
  void write(LogLevel level, std::string_view message);

  template <typename... Args>
  void debug(fmt::format_string<Args...> format, Args&&... args) {
    formatted(LogLevel::kDebug, format, std::forward<Args>(args)...);
  }
  template <typename... Args>
  void info(fmt::format_string<Args...> format, Args&&... args) {
    formatted(LogLevel::kInfo, format, std::forward<Args>(args)...);
  }
  template <typename... Args>
  void warn(fmt::format_string<Args...> format, Args&&... args) {
    formatted(LogLevel::kWarn, format, std::forward<Args>(args)...);
  }
  template <typename... Args>
  void error(fmt::format_string<Args...> format, Args&&... args) {
    formatted(LogLevel::kError, format, std::forward<Args>(args)...);
  }

  /// For a reload.
  void configure(LogLevel level, LogFormat format);

 private:
  template <typename... Args>
  void formatted(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
    if (enabled(level)) {
      write(level, fmt::format(format, std::forward<Args>(args)...));
    }
  }

  struct Backend;  // keeps spdlog out of this header
  std::unique_ptr<Backend> backend_;
  std::atomic<LogFormat> format_;
};

}  // namespace rolter::telemetry
