#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "rolter/base/time.h"
#include "rolter/simulator/engine_core.h"
#include "rolter/simulator/kv_publisher.h"

namespace rolter::simulator {

/// One simulated vLLM 0.32 server.
struct EngineOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;  // 0 = a free one
  std::string model = "sim-model";
  std::vector<std::string> adapters;  // LoRA names, served beside the model

  SchedulerLimits limits;
  EngineSpeed speed;
  std::uint32_t dp_size = 1;
  std::size_t max_queued =
      0;  // --max-num-queued-reqs: unfinished requests; beyond: 503. 0 = no limit
  KvPublisherOptions kv_events;

  std::uint64_t seed = 0;                         // of replies and ids
  bool prompt_tokens_details = true;              // --enable-prompt-tokens-details
  bool request_id_headers = false;                // --enable-request-id-headers
  bool developer_mode = true;                     // VLLM_SERVER_DEV_MODE=1: /reset_prefix_cache
  Duration keep_alive = std::chrono::seconds(5);  // VLLM_HTTP_TIMEOUT_KEEP_ALIVE
  std::size_t max_body_bytes = std::size_t{256} << 20U;
};

/// Prefill chunk of an engine that computes `prefill_tps`: vLLM's 2,048 tokens, or what takes 128
/// ms if that is less, at least two blocks. A slowed-down engine must not stall its decodes for
/// seconds.
[[nodiscard]] std::size_t default_step_tokens(double prefill_tps, std::uint32_t block_size);

}  // namespace rolter::simulator
