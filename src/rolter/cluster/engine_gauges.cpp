#include "rolter/cluster/engine_gauges.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "rolter/cluster/exposition_text.h"

namespace rolter::cluster {
namespace {

enum class Gauge : std::uint8_t { kRunning, kWaiting, kKvUsage, kStartedAt };

struct KnownName {
  std::string_view name;  // with ':' for the separator of engine and gauge
  Gauge gauge;
};

constexpr std::array<KnownName, 15> kNames{{
    {"vllm:num_requests_running", Gauge::kRunning},
    {"vllm:num_requests_waiting", Gauge::kWaiting},
    {"vllm:kv_cache_usage_perc", Gauge::kKvUsage},
    {"vllm:gpu_cache_usage_perc", Gauge::kKvUsage},  // until vLLM 0.11
    {"sglang:num_running_reqs", Gauge::kRunning},
    {"sglang:num_queue_reqs", Gauge::kWaiting},
    {"sglang:token_usage", Gauge::kKvUsage},
    {"tgi_batch_current_size", Gauge::kRunning},
    {"tgi_queue_size", Gauge::kWaiting},
    {"llamacpp:requests_processing", Gauge::kRunning},
    {"llamacpp:requests_deferred", Gauge::kWaiting},
    {"trtllm_num_requests_running", Gauge::kRunning},
    {"trtllm_num_requests_waiting", Gauge::kWaiting},
    {"trtllm_kv_cache_utilization", Gauge::kKvUsage},
    {"process_start_time_seconds", Gauge::kStartedAt},  // prometheus_client's, of all of them
}};

/// Equal, where '_' also stands for ':'.
bool is_name(std::string_view text, std::string_view name) {
  return std::ranges::equal(text, name, [](char have, char want) {
    return have == want || (want == ':' && have == '_');
  });
}

std::optional<Gauge> find_gauge(std::string_view text) {
  const auto found = std::ranges::find_if(
      kNames, [&](const KnownName& known) { return is_name(text, known.name); });
  return found == kNames.end() ? std::nullopt : std::optional{found->gauge};
}

bool repeats_another_rank(const Sample& sample) {
  return std::ranges::any_of(std::array{"tp_rank", "pp_rank"}, [&](const char* label) {
    return sample.label(label).value_or("0") != "0";
  });
}

}  // namespace

std::optional<double> EngineGauges::depth() const {
  return running && waiting ? std::optional{*running + *waiting} : std::nullopt;
}

EngineGauges parse_engine_gauges(std::string_view text) {
  EngineGauges gauges;
  ExpositionReader reader{text};
  while (const std::optional<Sample> sample = reader.next()) {
    const std::optional<Gauge> gauge = find_gauge(sample->name);
    if (!gauge || !std::isfinite(sample->value) || sample->value < 0 ||
        repeats_another_rank(*sample)) {
      continue;
    }
    switch (*gauge) {
      case Gauge::kRunning:
        gauges.running = gauges.running.value_or(0) + sample->value;
        break;
      case Gauge::kWaiting:
        gauges.waiting = gauges.waiting.value_or(0) + sample->value;
        break;
      case Gauge::kKvUsage:
        gauges.kv_usage = std::max(gauges.kv_usage.value_or(0), std::min(sample->value, 1.0));
        break;
      case Gauge::kStartedAt:
        gauges.started_at = std::max(gauges.started_at.value_or(0), sample->value);
        break;
    }
  }
  return gauges;
}

}  // namespace rolter::cluster
