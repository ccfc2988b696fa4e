#include "rolter/feeds/kv_socket.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>

namespace rolter::feeds {
namespace {

using std::chrono::milliseconds;

/// What waits for us at most, in messages. An engine whose subscriber falls further behind drops
/// batches silently or stalls (vLLM issue 53859).
constexpr int kReceiveHwm = 100'000;
constexpr std::int64_t kMaxMessageBytes = 64LL << 20;
/// An engine may be silent for hours, so only the transport itself tells that it is there.
constexpr milliseconds kHeartbeat{2'000};
constexpr milliseconds kHeartbeatTimeout{6'000};

int to_int(milliseconds duration) {
  return static_cast<int>(duration.count());
}

std::string zmq_address(const http::Endpoint& address) {
  const std::string host = address.address().to_string();
  return address.address().is_v6() ? fmt::format("tcp://[{}]:{}", host, address.port())
                                   : fmt::format("tcp://{}:{}", host, address.port());
}

/// A socket with all that must be set before it is dialled.
zmq::socket_t make_socket(zmq::context_t& context, zmq::socket_type type,
                          const http::Endpoint& address) {
  zmq::socket_t socket(context, type);
  socket.set(zmq::sockopt::rcvhwm, kReceiveHwm);
  socket.set(zmq::sockopt::maxmsgsize, kMaxMessageBytes);
  socket.set(zmq::sockopt::heartbeat_ivl, to_int(kHeartbeat));
  socket.set(zmq::sockopt::heartbeat_timeout, to_int(kHeartbeatTimeout));
  socket.set(zmq::sockopt::reconnect_ivl, -1);
  socket.set(zmq::sockopt::linger, 0);
  socket.set(zmq::sockopt::ipv6, address.address().is_v6());
  return socket;
}

}  // namespace

bool ReceivedMessage::receive_from(zmq::socket_t& socket) {
  frames_.clear();
  parts_.resize(kMostFrames);
  std::size_t count = 0;
  bool more = true;
  while (more) {
    // All parts of a message are there at once; those past the last slot are let go.
    zmq::message_t& part = parts_[std::min(count, kMostFrames - 1)];
    if (!socket.recv(part, zmq::recv_flags::dontwait)) {
      return false;
    }
    more = part.more();
    ++count;
  }
  for (std::size_t i = 0; i < std::min(count, kMostFrames); ++i) {
    frames_.emplace_back(static_cast<const std::byte*>(parts_[i].data()), parts_[i].size());
  }
  return true;
}

KvSubscription::KvSubscription(zmq::context_t& context, const http::Endpoint& address)
    : address_(address),
      socket_(make_socket(context, zmq::socket_type::sub, address)),
      monitor_(context, zmq::socket_type::pair) {
  socket_.set(zmq::sockopt::subscribe, "");
  const std::string events = fmt::format("inproc://kv-link-{}", fmt::ptr(socket_.handle()));
  if (zmq_socket_monitor(socket_.handle(), events.c_str(), ZMQ_EVENT_ALL) != 0) {
    throw zmq::error_t();
  }
  monitor_.set(zmq::sockopt::linger, 0);
  monitor_.connect(events);
  socket_.connect(zmq_address(address));
}

KvSubscription::~KvSubscription() {
  // Before the monitoring end is closed: libzmq blocks its I/O thread on an event nobody takes.
  zmq_socket_monitor(socket_.handle(), nullptr, 0);
}

void KvSubscription::watch_link() {
  zmq::message_t event;
  while (monitor_.recv(event, zmq::recv_flags::dontwait)) {
    std::uint16_t number = 0;
    if (event.size() >= sizeof number) {
      std::memcpy(&number, event.data(), sizeof number);
    }
    while (event.more() && monitor_.recv(event, zmq::recv_flags::dontwait)) {
    }
    switch (number) {
      case ZMQ_EVENT_HANDSHAKE_SUCCEEDED:
        link_ = Link::kUp;
        break;
      case ZMQ_EVENT_CLOSED:  // of a dial that failed
      case ZMQ_EVENT_DISCONNECTED:
      case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL:
      case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
      case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
        link_ = Link::kLost;
        break;
      default:
        break;
    }
  }
}

KvReplayRequest::KvReplayRequest(zmq::context_t& context, const http::Endpoint& address,
                                 std::uint64_t from)
    : socket_(make_socket(context, zmq::socket_type::dealer, address)) {
  socket_.connect(zmq_address(address));
  std::array<std::uint8_t, 8> sequence{};
  for (std::size_t i = 0; i < sequence.size(); ++i) {
    sequence[i] = static_cast<std::uint8_t>(from >> (56 - 8 * i));
  }
  // A REQ socket could read only the first batch (vLLM PR 45177); a DEALER adds its delimiter.
  socket_.send(zmq::message_t(), zmq::send_flags::sndmore | zmq::send_flags::dontwait);
  socket_.send(zmq::buffer(sequence), zmq::send_flags::dontwait);
}

}  // namespace rolter::feeds
