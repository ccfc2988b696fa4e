#include "rolter/simulator/kv_publisher.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>
#include <zmq.hpp>

namespace rolter::simulator {
namespace {

constexpr int kPublishHwm = 100'000;
constexpr int kReplayHwm = 1'000;  // ZMQ's default, which vLLM leaves as it is
constexpr std::chrono::milliseconds kReplayPause{1};
constexpr int kReplayPatience = 100;  // pauses in a row

using Timer = http::asio::basic_waitable_timer<
    std::chrono::steady_clock, http::asio::wait_traits<std::chrono::steady_clock>, http::Executor>;
using Descriptor = http::asio::posix::basic_stream_descriptor<http::Executor>;

/// "tcp://*:5557" for rank 1 is "tcp://*:5558"; port 0 stays.
std::string endpoint_of_rank(const std::string& endpoint, std::uint32_t rank) {
  const std::size_t colon = endpoint.rfind(':');
  if (!endpoint.starts_with("tcp://") || colon == std::string::npos) {
    return rank == 0 ? endpoint : endpoint + "_dp" + std::to_string(rank);
  }
  unsigned port = 0;
  std::from_chars(endpoint.data() + colon + 1, endpoint.data() + endpoint.size(), port);
  return endpoint.substr(0, colon + 1) + std::to_string(port == 0 ? 0 : port + rank);
}

Frames receive(zmq::socket_t& socket) {
  Frames frames;
  zmq::message_t part;
  while (socket.recv(part, zmq::recv_flags::dontwait)) {
    frames.push_back(part.to_string());
    if (!part.more()) {
      break;
    }
  }
  return frames;
}

enum class Sent : std::uint8_t { kYes, kFull, kPeerGone };

/// Only the first frame can fail: a message goes out whole or not at all.
Sent send(zmq::socket_t& socket, const Frames& frames) {
  try {
    for (std::size_t i = 0; i < frames.size(); ++i) {
      const auto more = i + 1 < frames.size() ? zmq::send_flags::sndmore : zmq::send_flags::none;
      if (!socket.send(zmq::buffer(frames[i]), more | zmq::send_flags::dontwait)) {
        return Sent::kFull;
      }
    }
    return Sent::kYes;
  } catch (const zmq::error_t&) {
    return Sent::kPeerGone;  // EHOSTUNREACH of a ROUTER
  }
}

}  // namespace

struct KvPublisher::Impl {
  Impl(http::Loop& loop, const KvPublisherOptions& options)
      : encoding(options.encoding),
        hashes(options.hashes),
        buffer(options.topic, options.replay_frames, options.buffer_steps),
        publisher(context, zmq::socket_type::pub),
        replayer(context, zmq::socket_type::router),
        readable(loop.io().get_executor()),
        pause(loop.io().get_executor()) {}

  http::Task<> serve_replay();
  http::Task<> send_all(std::vector<Frames> answers);

  EventEncoding encoding;
  HashEncoding hashes;
  ReplayBuffer buffer;
  zmq::context_t context;
  zmq::socket_t publisher;
  zmq::socket_t replayer;
  Descriptor readable;  // ZMQ's own descriptor; never closed by us
  Timer pause;
  std::string endpoint;
  std::string replay_endpoint;
  bool closed = false;
};

http::Task<> KvPublisher::Impl::serve_replay() {
  while (!closed) {
    // ZMQ signals changes, not states: everything there is must be read before waiting again.
    Frames request = receive(replayer);
    if (!request.empty()) {
      co_await send_all(buffer.answer(request));
      continue;
    }
    co_await readable.async_wait(Descriptor::wait_read, http::asio::as_tuple(http::asio::deferred));
  }
}

http::Task<> KvPublisher::Impl::send_all(std::vector<Frames> answers) {
  int pauses = 0;
  for (std::size_t i = 0; i < answers.size() && !closed;) {
    const Sent sent = send(replayer, answers[i]);
    if (sent == Sent::kPeerGone || pauses > kReplayPatience) {
      co_return;
    }
    if (sent == Sent::kYes) {
      pauses = 0;
      ++i;
      continue;
    }
    ++pauses;
    pause.expires_after(kReplayPause);
    co_await pause.async_wait(http::asio::as_tuple(http::asio::deferred));
  }
}

Result<std::unique_ptr<KvPublisher>> KvPublisher::open(http::Loop& loop, http::TaskScope& scope,
                                                       const KvPublisherOptions& options,
                                                       std::uint32_t rank) {
  std::string where = endpoint_of_rank(options.endpoint, rank);
  try {
    auto impl = std::make_unique<Impl>(loop, options);
    impl->publisher.set(zmq::sockopt::sndhwm, kPublishHwm);
    impl->publisher.set(zmq::sockopt::linger, 0);
    impl->replayer.set(zmq::sockopt::sndhwm, kReplayHwm);
    impl->replayer.set(zmq::sockopt::router_mandatory, true);
    impl->replayer.set(zmq::sockopt::linger, 0);
    impl->publisher.bind(where);
    impl->endpoint = impl->publisher.get(zmq::sockopt::last_endpoint);
    if (!options.replay_endpoint.empty()) {
      where = endpoint_of_rank(options.replay_endpoint, rank);
      impl->replayer.bind(where);
      impl->replay_endpoint = impl->replayer.get(zmq::sockopt::last_endpoint);
      impl->readable.assign(impl->replayer.get(zmq::sockopt::fd));
      scope.spawn("kv-replay", impl->serve_replay());
    }
    return std::make_unique<KvPublisher>(std::move(impl));
  } catch (const zmq::error_t& error) {
    return fail(ErrorKind::kUnavailable,
                "cannot publish KV events on " + where + ": " + error.what());
  }
}

KvPublisher::KvPublisher(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
KvPublisher::~KvPublisher() {
  close();
}

void KvPublisher::publish(const EventBatch& batch) {
  if (!impl_->closed) {
    send(impl_->publisher, impl_->buffer.add(encode(batch, impl_->encoding, impl_->hashes)));
  }
}

const std::string& KvPublisher::endpoint() const {
  return impl_->endpoint;
}
const std::string& KvPublisher::replay_endpoint() const {
  return impl_->replay_endpoint;
}

void KvPublisher::close() {
  if (impl_->closed) {
    return;
  }
  impl_->closed = true;
  impl_->pause.cancel();
  if (impl_->readable.is_open()) {
    impl_->readable.release();  // cancels the wait and leaves the descriptor to ZMQ
  }
  impl_->publisher.close();
  impl_->replayer.close();
  impl_->context.close();  // waits until the ports are free
}

}  // namespace rolter::simulator
