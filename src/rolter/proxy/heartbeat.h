#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "rolter/http/server_connection.h"
#include "rolter/proxy/ending.h"
#include "rolter/proxy/loop_state.h"
#include "rolter/proxy/request_facts.h"

namespace rolter::proxy {

/// Keeps a connection from looking dead while a stream's first byte is awaited ([timeouts]
/// heartbeat_secs): a comment line after each interval, the first of them under the head of an
/// event stream. From then on the answer has begun: what the replica sends follows in that stream,
/// and an error becomes an event there. A comment is one line without an empty one after it, since
/// some clients (openai-python after an event with an id) make an event of any empty line.
///
/// Lives as long as the request, over retries and fallbacks. One loop.
class Heartbeat {
 public:
  /// All must outlive it. Counts from now.
  Heartbeat(LoopState& loop, http::ServerConnection& client, RequestFacts& facts,
            Duration interval);

  /// While an answer that is no event stream is read, the stream must not begin.
  void pause() { deadline_.disarm(); }
  void resume();

  [[nodiscard]] bool begun() const { return begun_; }
  /// Whether the head that was sent keeps the connection.
  [[nodiscard]] bool keeps_alive() const { return keeps_alive_; }
  /// Sent so far.
  [[nodiscard]] std::uint64_t bytes_out() const { return bytes_out_; }

  /// The last beat: what the client has not taken yet goes before whatever is sent now.
  [[nodiscard]] std::string_view stop();

  /// Ends the stream that has begun with this event.
  [[nodiscard]] http::Task<Ending> end_with(std::string event);

 private:
  void beat();

  LoopState& loop_;
  http::ServerConnection& client_;
  RequestFacts& facts_;
  Duration interval_;
  TimePoint due_;
  http::Deadline deadline_;
  std::string unsent_;
  std::uint64_t bytes_out_ = 0;
  bool begun_ = false;
  bool keeps_alive_ = false;
};

}  // namespace rolter::proxy
