#include "rolter/simulator/metrics_page.h"

#include <fmt/format.h>

#include <iterator>
#include <string_view>
#include <vector>

namespace rolter::simulator {
namespace {

struct Series {
  std::string labels;  // beside engine and model_name, each with a leading comma
  double value = 0.0;
};

/// Writes families in the Prometheus text format.
class Page {
 public:
  explicit Page(std::string model) : model_(std::move(model)) {}

  void family(std::string_view name, std::string_view type, std::string_view help) {
    // A counter's family is named without _total in the comments of prometheus_client.
    std::string_view base = name;
    if (type == "counter" && base.ends_with("_total")) {
      base.remove_suffix(6);
    }
    fmt::format_to(std::back_inserter(out_), "# HELP vllm:{0} {1}\n# TYPE vllm:{0} {2}\n", base,
                   help, type);
    name_ = name;
  }
  void series(std::size_t rank, const Series& series) {
    fmt::format_to(std::back_inserter(out_), "vllm:{}{{engine=\"{}\",model_name=\"{}\"{}}} {}\n",
                   name_, rank, model_, series.labels, series.value);
  }
  void line(std::string_view text) { out_ += text; }
  std::string take() { return std::move(out_); }

 private:
  std::string model_;
  std::string_view name_;
  std::string out_;
};

struct Family {
  std::string_view name;
  std::string_view type;
  std::string_view help;
  std::vector<Series> (*read)(const SchedulerStats& stats);
};

double number(std::uint64_t value) {
  return static_cast<double>(value);
}

const std::vector<Family>& families() {
  static const std::vector<Family> kFamilies = {
      {"num_requests_running", "gauge", "Number of requests in model execution batches.",
       [](const SchedulerStats& s) { return std::vector<Series>{{"", number(s.running)}}; }},
      {"num_requests_waiting", "gauge", "Number of requests waiting to be processed.",
       [](const SchedulerStats& s) { return std::vector<Series>{{"", number(s.waiting)}}; }},
      {"num_requests_waiting_by_reason", "gauge", "Number of waiting requests by reason.",
       [](const SchedulerStats& s) {
         return std::vector<Series>{{",reason=\"capacity\"", number(s.waiting)},
                                    {",reason=\"deferred\"", 0.0}};
       }},
      {"kv_cache_usage_perc", "gauge", "KV-cache usage. 1 means 100 percent usage.",
       [](const SchedulerStats& s) { return std::vector<Series>{{"", s.kv_usage}}; }},
      {"prefix_cache_queries_total", "counter", "Prefix cache queries, in tokens.",
       [](const SchedulerStats& s) { return std::vector<Series>{{"", number(s.prompt_tokens)}}; }},
      {"prefix_cache_hits_total", "counter", "Prefix cache hits, in tokens.",
       [](const SchedulerStats& s) { return std::vector<Series>{{"", number(s.hit_tokens)}}; }},
      {"num_preemptions_total", "counter", "Cumulative number of preemptions.",
       [](const SchedulerStats& s) { return std::vector<Series>{{"", number(s.preemptions)}}; }},
      {"prompt_tokens_total", "counter", "Number of prefill tokens processed.",
       [](const SchedulerStats& s) { return std::vector<Series>{{"", number(s.prompt_tokens)}}; }},
      {"prompt_tokens_by_source_total", "counter", "Prompt tokens by source.",
       [](const SchedulerStats& s) {
         return std::vector<Series>{
             {",source=\"local_compute\"", number(s.prompt_tokens - s.hit_tokens)},
             {",source=\"local_cache_hit\"", number(s.hit_tokens)},
             {",source=\"external_kv_transfer\"", 0.0}};
       }},
      {"prompt_tokens_cached_total", "counter", "Prompt tokens found in the cache.",
       [](const SchedulerStats& s) { return std::vector<Series>{{"", number(s.hit_tokens)}}; }},
      {"generation_tokens_total", "counter", "Number of generation tokens processed.",
       [](const SchedulerStats& s) {
         return std::vector<Series>{{"", number(s.generated_tokens)}};
       }},
      {"request_success_total", "counter", "Count of successfully processed requests.",
       [](const SchedulerStats& s) {
         return std::vector<Series>{{",finished_reason=\"stop\"", number(s.finished_stop)},
                                    {",finished_reason=\"length\"", number(s.finished_length)},
                                    {",finished_reason=\"abort\"", number(s.aborted)}};
       }},
  };
  return kFamilies;
}

}  // namespace

std::string metrics_page(EngineService& service) {
  const EngineOptions& options = service.options();
  Page page(options.model);
  for (const Family& family : families()) {
    page.family(family.name, family.type, family.help);
    for (std::size_t rank = 0; rank < service.ranks().size(); ++rank) {
      for (const Series& series : family.read(service.ranks()[rank]->stats())) {
        page.series(rank, series);
      }
    }
  }
  page.family("admission_rejections_total", "counter", "Requests refused at admission.");
  page.line(
      fmt::format("vllm:admission_rejections_total{{model_name=\"{}\",reason=\"max_num_queued"
                  "_reqs\"}} {}\n",
                  options.model, service.rejected()));
  page.family("cache_config_info", "gauge", "Information of the LLMEngine CacheConfig");
  for (std::size_t rank = 0; rank < service.ranks().size(); ++rank) {
    page.line(fmt::format(
        "vllm:cache_config_info{{block_size=\"{}\",cache_dtype=\"auto\",enable_prefix_caching="
        "\"True\",engine=\"{}\",hash_block_size=\"None\",num_gpu_blocks=\"{}\","
        "prefix_caching_hash_algo=\"sha256\"}} 1.0\n",
        options.limits.block_size, rank, options.limits.blocks));
  }
  return page.take();
}

}  // namespace rolter::simulator
