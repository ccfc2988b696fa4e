#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "rolter/base/error.h"
#include "rolter/kvcache/learned_chains.h"
#include "rolter/kvcache/prefix_trees.h"
#include "rolter/kvcache/saved_trees.h"
#include "rolter/proxy/gateway_state.h"
#include "rolter/telemetry/app_log.h"

namespace rolter::runtime {

/// Keeps the prefix trees and the learned chains on file ([index] save_path), so that a restarted
/// gateway knows what the replicas hold, and which blocks a text is. Saves them once a minute and
/// at the end, on a thread of its own; a file is replaced whole or not at all, and only its owner
/// may read it. One that is damaged or of another version is said and not used.
class IndexStore {
 public:
  using CurrentState = std::function<std::shared_ptr<const proxy::GatewayState>()>;

  /// All must outlive it. `state` is called on its thread.
  IndexStore(const kvcache::PrefixTrees& trees, kvcache::LearnedChains& chains,
             telemetry::AppLog& log, CurrentState state)
      : trees_(trees), chains_(chains), log_(log), state_(std::move(state)) {}
  ~IndexStore() { stop(); }
  IndexStore(const IndexStore&) = delete;
  IndexStore& operator=(const IndexStore&) = delete;

  /// Reads the file, if there is one and the configuration names it. Before anything is served.
  void load();
  /// The thread, once the configuration names a file.
  void start();
  /// Saves once more and ends the thread. Not from one of the gateway's own threads.
  void stop();

 private:
  void run();
  void save();
  [[nodiscard]] Result<kvcache::LoadedTrees> take_up(
      const proxy::GatewayState& state, const std::vector<kvcache::IndexRecord>& records);
  [[nodiscard]] Result<std::size_t> write(const std::string& path,
                                          const std::vector<kvcache::SavedReplica>& replicas);

  const kvcache::PrefixTrees& trees_;
  kvcache::LearnedChains& chains_;
  telemetry::AppLog& log_;
  CurrentState state_;
  std::string told_problem_;  // of saving; "" = it works
  std::mutex mutex_;
  std::condition_variable stop_asked_;
  bool stops_ = false;
  std::thread thread_;
};

}  // namespace rolter::runtime
