#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>
#include <zmq.hpp>

#include "rolter/http/asio.h"
#include "rolter/kvcache/event_frames.h"

namespace rolter::feeds {

// The sockets below are dialled once, to an address that passed the egress check, and never again:
// libzmq would resolve and reconnect behind that check.

/// One whole message as it came; reused for the next one.
class ReceivedMessage {
 public:
  /// Takes the next message that waits in `socket`, if there is one. What the last call gave is
  /// gone.
  [[nodiscard]] bool receive_from(zmq::socket_t& socket);

  [[nodiscard]] std::span<const kvcache::Frame> frames() const { return frames_; }

 private:
  /// One more than the longest message there is, so that a longer one is seen as such.
  static constexpr std::size_t kMostFrames = 5;

  std::vector<zmq::message_t> parts_;
  std::vector<kvcache::Frame> frames_;
};

/// A connection to an engine's PUB socket, for all topics: from the dial to its end.
class KvSubscription {
 public:
  enum class Link : std::uint8_t { kDialling, kUp, kLost };

  /// Throws zmq::error_t when there are no more sockets.
  KvSubscription(zmq::context_t& context, const http::Endpoint& address);
  ~KvSubscription();
  KvSubscription(const KvSubscription&) = delete;
  KvSubscription& operator=(const KvSubscription&) = delete;

  [[nodiscard]] const http::Endpoint& address() const { return address_; }
  /// As of the last watch_link(). Messages that came before the loss may still wait.
  [[nodiscard]] Link link() const { return link_; }
  void watch_link();
  [[nodiscard]] bool receive(ReceivedMessage& message) { return message.receive_from(socket_); }

  [[nodiscard]] zmq::socket_t& socket() { return socket_; }
  [[nodiscard]] zmq::socket_t& monitor() { return monitor_; }

 private:
  http::Endpoint address_;
  zmq::socket_t socket_;
  zmq::socket_t monitor_;
  Link link_ = Link::kDialling;
};

/// One question to an engine's ROUTER socket: all batches from a number on.
class KvReplayRequest {
 public:
  /// Throws zmq::error_t when there are no more sockets.
  KvReplayRequest(zmq::context_t& context, const http::Endpoint& address, std::uint64_t from);

  [[nodiscard]] bool receive(ReceivedMessage& message) { return message.receive_from(socket_); }
  [[nodiscard]] zmq::socket_t& socket() { return socket_; }

 private:
  zmq::socket_t socket_;
};

}  // namespace rolter::feeds
