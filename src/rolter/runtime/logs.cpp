#include "rolter/runtime/logs.h"

#include <pthread.h>
#include <unistd.h>

#include "rolter/telemetry/log_format.h"

namespace rolter::runtime {

namespace {

telemetry::LogLevel level_of(const config::Log& settings) {
  return telemetry::parse_log_level(settings.level).value_or(telemetry::LogLevel::kInfo);
}

telemetry::LogFormat format_of(const config::Log& settings) {
  return telemetry::parse_log_format(settings.format).value_or(telemetry::LogFormat::kJson);
}

}  // namespace

Logs::Logs(const config::Log& settings)
    : app(queue, level_of(settings), format_of(settings)), writer_([this] {
        ::pthread_setname_np(::pthread_self(), "rolter-log");
        telemetry::write_log(queue, STDERR_FILENO);
      }) {}

void Logs::configure(const config::Log& settings) {
  app.configure(level_of(settings), format_of(settings));
}

Logs::~Logs() {
  queue.close();
  writer_.join();
}

}  // namespace rolter::runtime
