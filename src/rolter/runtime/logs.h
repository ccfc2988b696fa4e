#pragma once

#include <cstddef>
#include <thread>

#include "rolter/config/config.h"
#include "rolter/telemetry/app_log.h"
#include "rolter/telemetry/log_queue.h"

namespace rolter::runtime {

/// The process's logs, and the thread that writes them to stderr.
struct Logs {
  /// Lines that a stuck stderr may make us hold.
  static constexpr std::size_t kMostBytes = 16'777'216;

  explicit Logs(const config::Log& settings);
  ~Logs();
  Logs(const Logs&) = delete;
  Logs& operator=(const Logs&) = delete;

  /// For a reload. Access lines follow the configuration that their request began with.
  void configure(const config::Log& settings);

  telemetry::LogQueue queue{kMostBytes};
  telemetry::AppLog app;

 private:
  std::thread writer_;
};

}  // namespace rolter::runtime
