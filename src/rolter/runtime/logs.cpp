#include "rolter/runtime/logs.h"

#include <pthread.h>
#include <unistd.h>

namespace rolter::runtime {

Logs::Logs(const config::Log& settings)
    : format(telemetry::parse_log_format(settings.format).value_or(telemetry::LogFormat::kJson)),
      app(queue, telemetry::parse_log_level(settings.level).value_or(telemetry::LogLevel::kInfo),
          format),
      writer_([this] {
        ::pthread_setname_np(::pthread_self(), "rolter-log");
        telemetry::write_log(queue, STDERR_FILENO);
      }) {}

Logs::~Logs() {
  queue.close();
  writer_.join();
}

}  // namespace rolter::runtime
