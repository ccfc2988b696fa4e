#include "tests/fakes/event_publisher.h"

#include <charconv>
#include <stdexcept>
#include <utility>

namespace rolter::fakes {
namespace {

std::string big_endian(std::uint64_t value) {
  std::string bytes(8, '\0');
  for (int i = 7; i >= 0; --i) {
    bytes[static_cast<std::size_t>(i)] = static_cast<char>(value & 0xFFU);
    value >>= 8U;
  }
  return bytes;
}

std::uint64_t to_number(const std::string& bytes) {
  std::uint64_t value = 0;
  for (const char byte : bytes) {
    value = (value << 8U) | static_cast<unsigned char>(byte);
  }
  return value;
}

void send(zmq::socket_t& socket, const std::vector<std::string>& frames) {
  for (std::size_t i = 0; i < frames.size(); ++i) {
    socket.send(zmq::buffer(frames[i]),
                i + 1 < frames.size() ? zmq::send_flags::sndmore : zmq::send_flags::none);
  }
}

/// Binds to the port, or to a free one; returns which.
std::uint16_t bind(zmq::socket_t& socket, std::uint16_t port) {
  socket.set(zmq::sockopt::linger, 0);
  socket.bind("tcp://127.0.0.1:" + (port == 0 ? std::string("*") : std::to_string(port)));
  const std::string bound = socket.get(zmq::sockopt::last_endpoint);
  const std::size_t digits = bound.rfind(':') + 1;
  std::from_chars(bound.data() + digits, bound.data() + bound.size(), port);
  return port;
}

}  // namespace

EventPublisher::EventPublisher(std::string topic) : topic_(std::move(topic)) {
  open();
}

EventPublisher::~EventPublisher() {
  cut();
}

void EventPublisher::open() {
  context_ = std::make_unique<zmq::context_t>();
  publisher_ = zmq::socket_t(*context_, zmq::socket_type::xpub);  // a PUB that tells
  port_ = bind(publisher_, port_);
  router_ = zmq::socket_t(*context_, zmq::socket_type::router);
  replay_port_ = bind(router_, replay_port_);
  thread_ = std::thread([this] { serve_replays(); });
}

void EventPublisher::await_subscriber() {
  zmq::message_t subscription;
  publisher_.set(zmq::sockopt::rcvtimeo, 10'000);
  if (!publisher_.recv(subscription)) {
    throw std::runtime_error("nobody subscribes");
  }
}

void EventPublisher::publish(const std::string& payload) {
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = next_++;
    buffer_.push_back({number, payload});
  }
  publish_raw({topic_, big_endian(number), payload});
}

void EventPublisher::lose(const std::string& payload) {
  const std::lock_guard lock(mutex_);
  buffer_.push_back({next_++, payload});
}

void EventPublisher::publish_raw(const std::vector<std::string>& frames) {
  send(publisher_, frames);
}

void EventPublisher::keep_newest(std::size_t batches) {
  const std::lock_guard lock(mutex_);
  if (buffer_.size() > batches) {
    buffer_.erase(buffer_.begin(), buffer_.end() - static_cast<std::ptrdiff_t>(batches));
  }
}

void EventPublisher::cut() {
  if (!context_) {
    return;
  }
  publisher_.close();
  context_->shutdown();  // ends the thread's wait
  thread_.join();
  context_.reset();  // waits until the ports are free
}

void EventPublisher::come_back() {
  open();
}

void EventPublisher::restart() {
  cut();
  {
    const std::lock_guard lock(mutex_);
    next_ = 0;
    buffer_.clear();
  }
  open();
}

std::size_t EventPublisher::replays() const {
  const std::lock_guard lock(mutex_);
  return replays_;
}

void EventPublisher::serve_replays() {
  zmq::socket_t router = std::move(router_);
  try {
    while (true) {
      std::vector<std::string> request;
      zmq::message_t part;
      do {
        (void)router.recv(part);
        request.push_back(part.to_string());
      } while (part.more());
      answer(router, request);
    }
  } catch (const zmq::error_t& error) {
    if (error.num() != ETERM) {
      throw;
    }
  }
}

void EventPublisher::answer(zmq::socket_t& router, const std::vector<std::string>& request) {
  if (request.size() != 3 || !request[1].empty()) {
    return;  // as vLLM: no answer at all
  }
  std::vector<Batch> batches;
  {
    const std::lock_guard lock(mutex_);
    ++replays_;
    batches = buffer_;
  }
  for (const Batch& batch : batches) {
    if (batch.sequence >= to_number(request[2])) {
      send(router, {request[0], "", topic_, big_endian(batch.sequence), batch.payload});
    }
  }
  send(router, {request[0], "", "", std::string(8, '\xFF'), ""});
}

}  // namespace rolter::fakes
