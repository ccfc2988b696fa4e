#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "rolter/base/time.h"
#include "rolter/telemetry/log_format.h"
#include "rolter/telemetry/log_queue.h"

namespace rolter::telemetry {

/// What one line says about one request. Texts may be anything a client or replica sent: they are
/// escaped. Holds no secret: keys by name, never a header's value.
struct AccessRecord {
  WallTime time{};  // of the end
  std::string_view request_id;
  std::string_view trace_id{};  // of the caller's trace; "" = it has none
  std::string_view client;      // address
  std::string_view method;
  std::string_view path;          // without the query
  std::string_view route;         // "" when no route serves the model
  std::string_view target;        // "provider/model", "" when the gateway answered itself
  std::string_view reason;        // of the pick
  std::string_view source = {};   // by which the target's cache was known; "" = by none
  std::string_view key;           // name of the virtual key
  std::string_view error;         // cause, "" when all went well
  std::string_view blocks{};      // digests of the prompt's, 16 hexadecimal digits each
  std::optional<double> matched;  // fraction of the prompt; nullopt without a pick
  int status = 0;                 // as the client got it; 499 when it had left
  std::uint32_t retries = 0;
  std::uint64_t bytes_in = 0;   // body
  std::uint64_t bytes_out = 0;  // body
  std::optional<Duration> ttft{};
  Duration duration{};
  std::optional<std::uint64_t> prompt_bytes{};   // of its text; beside `blocks` only
  std::optional<std::uint64_t> prompt_tokens{};  // as reported
  std::optional<std::uint64_t> cached_tokens{};
  std::optional<std::uint64_t> completion_tokens{};
};

/// Appends one line, its end included. Fields without a value are left out. Does not allocate while
/// `out` has room.
void append_access_line(std::string& out, LogFormat format, const AccessRecord& record);

/// The access log of one event loop: lines gather in a buffer and are handed to the writing thread
/// in batches. One thread. Never waits: lines that the writer cannot take are dropped and counted.
class AccessLog {
 public:
  static constexpr std::size_t kBatchBytes = std::size_t{16} * 1024;

  AccessLog(LogQueue& queue, LogFormat format) : queue_(queue), format_(format) {}
  ~AccessLog() { flush(); }
  AccessLog(const AccessLog&) = delete;
  AccessLog& operator=(const AccessLog&) = delete;

  void write(const AccessRecord& record) {
    append_access_line(batch_, format_, record);
    if (batch_.size() >= kBatchBytes) {
      flush();
    }
  }

  /// Hands over what has gathered. Call several times a second, so that lines appear in time.
  void flush() {
    if (!batch_.empty()) {
      queue_.push(batch_);
    }
  }

  void set_format(LogFormat format) { format_ = format; }

 private:
  LogQueue& queue_;
  LogFormat format_;
  std::string batch_;
};

}  // namespace rolter::telemetry
