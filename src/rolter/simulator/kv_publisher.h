#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "rolter/base/error.h"
#include "rolter/http/loop.h"
#include "rolter/http/task_scope.h"
#include "rolter/simulator/event_encoding.h"
#include "rolter/simulator/replay_buffer.h"

namespace rolter::simulator {

struct KvPublisherOptions {
  std::string endpoint;         // "tcp://*:5557"; "" = no events. Port 0 takes a free one
  std::string replay_endpoint;  // "" = no replay
  std::string topic;
  EventEncoding encoding = EventEncoding::kMap;
  HashEncoding hashes = HashEncoding::kInteger;
  ReplayFrames replay_frames = ReplayFrames::kWithTopic;
  std::size_t buffer_steps = 10'000;
};

/// One DP rank's KV events on ZMQ: a PUB socket and, if wanted, a ROUTER that replays. Both bind
/// (vLLM dials an address without "*"; here it is bound too). A subscriber that is 100,000 messages
/// behind loses some silently, and a replay ends early, without its end marker, for a reader that
/// is 1,000 behind and takes nothing for 100 ms. Lives on one loop.
class KvPublisher {
 public:
  /// Binds; a port that is not 0 is raised by the rank, as vLLM does. The replay is served by a
  /// task of `scope` until close().
  [[nodiscard]] static Result<std::unique_ptr<KvPublisher>> open(http::Loop& loop,
                                                                 http::TaskScope& scope,
                                                                 const KvPublisherOptions& options,
                                                                 std::uint32_t rank);
  /// After close(), once the scope's tasks have ended.
  ~KvPublisher();
  KvPublisher(const KvPublisher&) = delete;
  KvPublisher& operator=(const KvPublisher&) = delete;

  void publish(const EventBatch& batch);

  /// The addresses that were bound, ports resolved ("tcp://0.0.0.0:5557"). Replay "" = none.
  [[nodiscard]] const std::string& endpoint() const;
  [[nodiscard]] const std::string& replay_endpoint() const;

  /// Gives the ports back at once; what subscribers have not read yet is lost. The replay task
  /// ends.
  void close();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;

 public:
  explicit KvPublisher(std::unique_ptr<Impl> impl);  // for open()
};

}  // namespace rolter::simulator
