#include "rolter/proxy/heartbeat.h"

#include <algorithm>

#include "rolter/http/chunk_writer.h"
#include "rolter/proxy/client_answer.h"

namespace rolter::proxy {
namespace {

constexpr std::string_view kComment = ": waiting\n";

}  // namespace

Heartbeat::Heartbeat(LoopState& loop, http::ServerConnection& client, RequestFacts& facts,
                     Duration interval)
    : loop_(loop),
      client_(client),
      facts_(facts),
      interval_(interval),
      due_(loop.loop.now() + interval),
      deadline_(loop.loop.wheel(), [this] { beat(); }) {
  deadline_.arm(interval_);
}

void Heartbeat::resume() {
  if (!deadline_.armed()) {
    deadline_.arm(std::max(due_ - loop_.loop.now(), Duration{1}));
  }
}

/// A client that has left is found by whoever watches it; one that reads nothing gets no more.
void Heartbeat::beat() {
  due_ = loop_.loop.now() + interval_;
  deadline_.arm(interval_);
  if (unsent_.empty()) {
    if (!begun_) {
      begun_ = true;
      keeps_alive_ = loop_.keeps_alive(client_.head());
      facts_.status = 200;
      write_event_stream_head(facts_.request_id, facts_.limit_fields, keeps_alive_, unsent_);
    }
    http::append_chunk(unsent_, kComment);
    ++facts_.heartbeats;
  }
  http::Gather out{unsent_};
  if (client_.stream().try_write(out)) {
    bytes_out_ += unsent_.size() - out.size();
    unsent_.erase(0, unsent_.size() - out.size());
  }
}

std::string_view Heartbeat::stop() {
  deadline_.disarm();
  return unsent_;
}

http::Task<Ending> Heartbeat::end_with(std::string event) {
  deadline_.disarm();
  http::append_chunk(unsent_, event);
  unsent_ += http::kLastChunk;
  bytes_out_ += unsent_.size();
  facts_.bytes_out = bytes_out_;
  const auto sent = co_await client_.send({unsent_});
  co_return !sent ? Ending::kBroken : keeps_alive_ ? Ending::kReusable : Ending::kClose;
}

}  // namespace rolter::proxy
