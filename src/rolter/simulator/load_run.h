#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "rolter/http/task_scope.h"
#include "rolter/simulator/chat_workload.h"
#include "rolter/simulator/load_client.h"
#include "rolter/simulator/trace.h"
#include "rolter/simulator/wakeup.h"

namespace rolter::simulator {

/// What the callers have seen so far.
struct LoadResult {
  std::uint64_t requests = 0;  // answered to the end
  std::uint64_t errors = 0;    // broken, or an error status that is not a refusal
  std::uint64_t refused = 0;   // 429 and 503
  std::vector<double> first_token_s;
  std::string last_failure;
  std::size_t in_flight = 0;
};

/// Callers that drive one gateway, until told to stop. One loop; its tasks belong to the scope.
class LoadRun {
 public:
  LoadRun(http::Loop& loop, http::TaskScope& scope, const http::Endpoint& gateway,
          std::string model);

  /// Requests that begin from here on bring their prompts' token ids.
  void bring_token_ids() { brings_token_ids_ = true; }

  /// Closed loop: `users` converse without end, thinking between turns (exponential, `think_s` on
  /// average). They come one after the other within the first two seconds. `workload` must outlive
  /// the run.
  void start_users(const ChatWorkload& workload, std::size_t users, double think_s,
                   std::uint64_t seed);

  /// Plays chains at `speedup` times their own pace, from their first start on. They must outlive
  /// the run.
  void start_trace(const std::vector<TraceChain>& chains, double speedup);

  /// No further request begins; those under way finish.
  void stop();
  /// Those under way break, and are not counted.
  void abort();

  [[nodiscard]] const LoadResult& result() const { return result_; }
  [[nodiscard]] bool stopped() const { return stopped_; }

 private:
  [[nodiscard]] http::Task<> user(const ChatWorkload& workload, Rng rng, double arrive_s,
                                  double think_s);
  [[nodiscard]] http::Task<bool> converse(const ChatWorkload& workload, Rng& rng, std::size_t past,
                                          double think_s);
  [[nodiscard]] http::Task<> play(const std::vector<TraceChain>& chains, double speedup);
  [[nodiscard]] http::Task<> play_chain(const TraceChain& chain, double speedup);
  [[nodiscard]] http::Task<CallOutcome> call(std::string path, std::string body,
                                             std::string token_ids = {});
  /// False when the run was stopped meanwhile.
  [[nodiscard]] http::Task<bool> pause(double seconds);

  http::Loop& loop_;
  http::TaskScope& scope_;
  LoadClient client_;
  std::string model_;
  LoadResult result_;
  std::vector<Wakeup*> pauses_;
  bool brings_token_ids_ = false;
  bool stopped_ = false;
  bool aborted_ = false;
};

}  // namespace rolter::simulator
