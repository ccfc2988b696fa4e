#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "rolter/proxy/gateway_state.h"
#include "rolter/proxy/request_facts.h"

namespace rolter::proxy {

/// One request that was routed, as people look it up afterwards. Holds no text of the request.
struct RoutedRequest {
  struct Score {
    std::string provider;
    double matched = 0.0;
    double total = 0.0;
  };

  std::uint64_t number = 0;  // on its loop, from 1
  WallTime ended;
  std::string request_id;
  std::string trace_id;  // "" = the caller had none
  std::string route;
  std::string target;  // "provider/model"
  std::string_view reason;
  std::string_view source = {};
  double matched = 0.0;
  int status = 0;
  std::uint32_t retries = 0;
  std::optional<std::uint64_t> predicted_cached_tokens;
  std::optional<std::uint64_t> cached_tokens;  // as the replica reported them
  std::optional<Duration> ttft;
  Duration duration{};
  std::string error;
  std::vector<Score> scores;  // empty when nobody looked on
};

/// How an attempt at a provider failed, the last time.
struct LastError {
  std::string provider;
  std::string text;
  WallTime at;
};

/// The last requests of one loop, and the last error of each provider there. The loop writes, once
/// per request when its answer has been sent: a lock that is hardly ever held by another, and
/// copies into memory that is used again. Any thread reads.
class DecisionRing {
 public:
  static constexpr std::size_t kKept = 256;
  static constexpr std::size_t kMostProviders = 1'024;  // of last errors, removed ones included

  DecisionRing() : kept_(kKept) {}

  void add(const GatewayState& state, const RequestFacts& facts, WallTime now);
  void note_error(std::string_view provider, std::string_view why, WallTime now);

  /// Appends those with a greater number than `after`, oldest first.
  void read(std::uint64_t after, std::vector<RoutedRequest>& out) const;
  /// Of the newest one; 0 when there is none.
  [[nodiscard]] std::uint64_t newest() const;
  void read_errors(std::vector<LastError>& out) const;

 private:
  mutable std::mutex mutex_;
  std::vector<RoutedRequest> kept_;  // by number, modulo its size
  std::uint64_t newest_ = 0;
  std::vector<LastError> errors_;
  std::size_t next_error_ = 0;  // replaced next, once there are kMostProviders
};

}  // namespace rolter::proxy
