#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace rolter::fakes {

/// A replica on loopback that answers, or fails in a certain manner. It has threads of its own; any
/// thread may call anything.
class FaultyReplica {
 public:
  enum class Manner : std::uint8_t {
    kServe,           // a whole chat completion, streamed when asked for
    kServerError,     // 500
    kRateLimited,     // 429 with Retry-After: 60
    kHang,            // silent before the head
    kResetMidStream,  // a head, one content event, then a reset
  };

  FaultyReplica();
  ~FaultyReplica();
  FaultyReplica(const FaultyReplica&) = delete;
  FaultyReplica& operator=(const FaultyReplica&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }
  void behave(Manner manner) { manner_ = manner; }
  void set_healthy(bool healthy) { healthy_ = healthy; }
  /// The body of the answer to every GET. Before the first one.
  void set_page(std::string page) { page_ = std::move(page); }
  /// From now on connects are refused; what is open is reset.
  void refuse();

  /// Requests that have come, probes apart.
  [[nodiscard]] std::size_t requests() const { return requests_; }
  /// The head and body of the last of them.
  [[nodiscard]] std::string last_request() const;

 private:
  void accept_all();
  void serve(int socket);
  [[nodiscard]] bool answer(int socket, const std::string& request);
  void reset(int socket);

  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::string page_;
  std::atomic<Manner> manner_{Manner::kServe};
  std::atomic<bool> healthy_{true};
  std::atomic<bool> refusing_{false};
  std::atomic<std::size_t> requests_{0};
  mutable std::mutex mutex_;
  std::string last_request_;
  std::set<int> open_;
  std::vector<std::thread> connections_;
  std::thread acceptor_;
};

}  // namespace rolter::fakes
