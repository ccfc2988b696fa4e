#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "bench/loadgen/epoll.h"
#include "bench/loadgen/request_set.h"
#include "bench/loadgen/response_reader.h"

namespace rolter::loadgen {

enum class Mode : std::uint8_t {
  kClosed,  // each connection sends its next request when it has the last answer
  kRate,    // requests leave at a constant rate; latency counts from when one should have left
  kIdle,    // each connection opens one stream that stays silent after its first chunk
};

struct LoadOptions {
  Mode mode = Mode::kClosed;
  std::size_t connections = 64;
  double seconds = 5;  // of sending; of holding in kIdle
  double rate = 1000;  // requests a second, kRate only
  RequestSetOptions requests;
};

struct LoadResult {
  std::uint64_t right = 0;  // complete, 200, byte for byte as due
  std::uint64_t wrong = 0;
  std::uint64_t chunks = 0;  // of right streams, plus those under way at the end
  double seconds = 0;
  std::vector<Nanoseconds> latency;     // of right answers
  std::vector<Nanoseconds> first_byte;  // of streams
};

/// One run of one thread. Connections are opened before the clock starts.
class LoadRun {
 public:
  explicit LoadRun(LoadOptions options);

  [[nodiscard]] LoadResult run();

 private:
  struct Connection {
    int fd = -1;
    ResponseReader reader;
    bool busy = false;
    bool writing = false;
    Nanoseconds started_at = 0;
    std::string_view out;  // what is left to send
  };

  void open(std::size_t index);
  void start(std::size_t index, Nanoseconds started_at);
  void send_rest(std::size_t index);
  void receive(std::size_t index);
  void finish(std::size_t index);
  void launch_due(Nanoseconds now);
  [[nodiscard]] bool is_over(Nanoseconds now) const;
  [[nodiscard]] Nanoseconds next_wait(Nanoseconds now) const;
  void announce_idle(Nanoseconds now);

  LoadOptions options_;
  std::vector<std::string> requests_;
  std::string expected_;
  std::size_t next_request_ = 0;
  Epoll epoll_;
  std::vector<Connection> connections_;
  std::vector<std::size_t> free_;    // kRate: connections without a request
  std::deque<Nanoseconds> waiting_;  // kRate: requests that should have left
  std::uint64_t launched_ = 0;       // kRate
  std::size_t streams_open_ = 0;     // kIdle
  Nanoseconds begin_ = 0;
  Nanoseconds end_ = 0;
  std::vector<char> buffer_ = std::vector<char>(262'144);
  LoadResult result_;
};

}  // namespace rolter::loadgen
