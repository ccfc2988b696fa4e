#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>
#include <zmq.hpp>

namespace rolter::fakes {

/// An engine's PUB and ROUTER sockets on loopback, which send the batches they are given, numbered
/// as vLLM does. One thread may call it; replays are answered on a thread of its own.
class EventPublisher {
 public:
  explicit EventPublisher(std::string topic = "");
  ~EventPublisher();
  EventPublisher(const EventPublisher&) = delete;
  EventPublisher& operator=(const EventPublisher&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::uint16_t replay_port() const { return replay_port_; }

  /// Waits until somebody subscribes: what is published before may not reach them.
  void await_subscriber();

  /// The next batch: to the subscribers and into the replay buffer.
  void publish(const std::string& payload);
  /// As publish(), but no subscriber gets it.
  void lose(const std::string& payload);
  /// Whatever it is, as it is.
  void publish_raw(const std::vector<std::string>& frames);
  /// The oldest batches leave the replay buffer.
  void keep_newest(std::size_t batches);

  /// The connections break and the ports refuse; numbers and buffer stay.
  void cut();
  /// On the same ports again.
  void come_back();
  /// Another process on the same ports: empty buffer, numbers from 0, no clear.
  void restart();

  /// Replay requests answered so far.
  [[nodiscard]] std::size_t replays() const;

 private:
  struct Batch {
    std::uint64_t sequence = 0;
    std::string payload;
  };

  void open();
  void serve_replays();
  void answer(zmq::socket_t& router, const std::vector<std::string>& request);

  std::string topic_;
  std::uint16_t port_ = 0;
  std::uint16_t replay_port_ = 0;
  std::unique_ptr<zmq::context_t> context_;  // null while cut
  zmq::socket_t publisher_;
  zmq::socket_t router_;  // the thread's, while it runs
  std::thread thread_;

  mutable std::mutex mutex_;  // for what follows
  std::uint64_t next_ = 0;
  std::vector<Batch> buffer_;
  std::size_t replays_ = 0;
};

}  // namespace rolter::fakes
