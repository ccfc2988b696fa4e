#include "rolter/cli/live_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "rolter/cluster/exposition_text.h"
#include "rolter/config/url.h"
#include "rolter/feeds/lmcache_answer.h"
#include "rolter/openai/error_body.h"
#include "rolter/openai/json_document.h"
#include "rolter/openai/json_string.h"
#include "rolter/openai/json_writer.h"

namespace rolter::cli {
namespace {

using Answer = Result<feeds::GetAnswer>;
using openai::JsonDocument;

constexpr std::chrono::seconds kPatience{5};
constexpr std::chrono::seconds kPatienceWithPrompt{60};  // a busy replica answers late

bool is_ok(const Answer& answer) {
  return answer && answer->status == 200;
}

/// A JSON text that stays while it is walked.
class Json {
 public:
  explicit Json(std::string text) : text_(std::move(text)), size_(text_.size()) {
    text_.append(JsonDocument::kPadding, '\0');
    sound_ = !document_.read(std::string_view(text_).substr(0, size_));
  }
  [[nodiscard]] bool is_object() const { return sound_ && document_.is_object(document_.root()); }
  [[nodiscard]] const JsonDocument& document() const { return document_; }

  /// The strings under `key`, however deep; no key of the engines' answers means two things.
  [[nodiscard]] std::vector<std::string> strings(std::string_view key) const {
    std::vector<std::string> found;
    if (sound_) {
      collect(document_.root(), key, found);
    }
    return found;
  }

 private:
  void collect(JsonDocument::Token value, std::string_view key,
               std::vector<std::string>& found) const {
    if (document_.is_array(value)) {
      document_.for_each_element(value, [&](auto element) { collect(element, key, found); });
    } else if (document_.is_object(value)) {
      document_.for_each_member(value, [&](std::string_view name, auto member) {
        if (name == key && document_.is_string(member)) {
          std::ignore = openai::append_unescaped(found.emplace_back(), document_.escaped(member));
        }
        collect(member, key, found);
      });
    }
  }

  std::string text_;
  std::size_t size_;
  JsonDocument document_;
  bool sound_ = false;
};

/// Everything that is asked of one replica, in this order.
enum Question : std::uint8_t { kHealth, kModels, kVersion, kMetrics, kEvents, kQuestions };

std::string own_fields(const config::Provider& provider) {
  std::string fields;
  if (!provider.api_key.empty()) {
    fields += fmt::format("Authorization: Bearer {}\r\n", provider.api_key.reveal());
  }
  for (const auto& [name, value] : provider.headers) {
    fields += fmt::format("{}: {}\r\n", name, value.reveal());
  }
  return fields;
}

ToolRequest ask(const config::Provider& provider, std::string_view path) {
  ToolRequest request{
      .url = provider.api_base, .fields = own_fields(provider), .ca_files = provider.ca_bundles};
  request.url.base_path += path;
  request.timeout = kPatience;
  return request;
}

std::vector<ToolRequest> questions(const config::Config& config) {
  std::vector<ToolRequest> all;
  for (const config::Provider& provider : config.providers) {
    all.push_back(ask(provider, config.health.path));
    for (const char* path : {"/v1/models", "/version", "/metrics", "/kv_event_sources"}) {
      all.push_back(ask(provider, path));
    }
  }
  return all;
}

/// The models that routes expect at a provider.
std::set<std::string> expected_models(const config::Config& config, std::size_t provider) {
  std::set<std::string> models;
  for (const config::Route& route : config.routes) {
    for (const config::RouteTarget& target : route.targets) {
      if (target.provider == provider) {
        models.insert(target.model);
      }
    }
  }
  return models;
}

void judge_models(const Answer& answer, const std::set<std::string>& expected,
                  ReplicaReport& report) {
  if (!is_ok(answer)) {
    const bool key = answer && (answer->status == 401 || answer->status == 403);
    report.findings.push_back(
        key ? "it rejects the key: set api_key_env to the one it was started with (--api-key)"
            : "it does not list its models at /v1/models: check api_base");
    return;
  }
  std::vector<std::string> served = Json(answer->body).strings("id");
  std::erase_if(served, [](const std::string& id) { return id.starts_with("modelperm-"); });
  for (const std::string& model : expected) {
    if (std::ranges::find(served, model) == served.end()) {
      report.findings.push_back(fmt::format(
          "it does not serve \"{}\" but \"{}\": set the model of [[routes.targets]], or "
          "start it with --served-model-name",
          model, fmt::join(served, "\", \"")));
    }
  }
}

void judge_cache(const Answer& answer, ReplicaReport& report) {
  if (!is_ok(answer)) {
    report.findings.push_back("it has no /metrics: its load and cache settings stay unknown");
    return;
  }
  cluster::ExpositionReader reader(answer->body);
  while (const auto sample = reader.next()) {
    if (sample->name == "vllm:cache_config_info") {
      const auto caching = sample->label("enable_prefix_caching").value_or("");
      report.prefix_caching = caching == "True" ? "on" : caching == "False" ? "off" : "-";
      report.block_size = std::string(sample->label("block_size").value_or("-"));
    }
  }
  if (report.prefix_caching == "off") {
    report.findings.push_back(
        "prefix caching is off, so that affinity saves nothing: start it with "
        "--enable-prefix-caching");
  }
}

void judge_block_size(const config::Provider& provider, ReplicaReport& report) {
  if (provider.kv_events && provider.kv_events->block_size != 0 && report.block_size != "-" &&
      report.block_size != std::to_string(provider.kv_events->block_size)) {
    report.findings.push_back(
        fmt::format("its block size is {}, not {}: leave kv_events.block_size out, it is learned",
                    report.block_size, provider.kv_events->block_size));
  }
}

std::string port_of(const std::string& endpoint) {
  return endpoint.substr(std::min(endpoint.rfind(':'), endpoint.size()));
}

void judge_events(const Answer& answer, const config::Provider& provider, ReplicaReport& report) {
  const bool told = is_ok(answer);
  const Json json(told ? answer->body : std::string());
  const auto endpoints = json.strings("endpoint");
  const auto replays = json.strings("replay_endpoint");
  const auto topics = json.strings("topic");
  if (!told) {
    report.kv_events = "-";  // older engines do not tell
    return;
  }
  report.kv_events = endpoints.empty() ? "off"
                                       : fmt::format("{}, topic \"{}\", {}", endpoints.front(),
                                                     topics.empty() ? "" : topics.front(),
                                                     replays.empty() ? "no replay" : "replay");
  if (!provider.kv_events) {
    return;
  }
  const config::KvEvents& events = *provider.kv_events;
  if (endpoints.empty()) {
    report.findings.push_back(
        "KV events are configured here but off there: start it with --kv-events-config "
        "'{\"enable_kv_cache_events\":true,\"publisher\":\"zmq\"}'");
    return;
  }
  if (!events.endpoint.empty() && port_of(events.endpoint) != port_of(endpoints.front())) {
    report.findings.push_back(fmt::format("it publishes at {}, not at {}: set kv_events.endpoint",
                                          endpoints.front(), events.endpoint));
  }
  if (!topics.empty() && !topics.front().starts_with(events.topic)) {
    report.findings.push_back(
        fmt::format("its topic is \"{}\", so that topic = \"{}\" drops every event: set "
                    "kv_events.topic",
                    topics.front(), events.topic));
  }
  if (events.replay_endpoint.empty() || replays.empty()) {
    report.findings.push_back(
        "without replay what was missed stays unknown: start it with replay_endpoint in "
        "--kv-events-config, and set kv_events.replay_endpoint");
  }
}

std::vector<ToolRequest> prompts(const config::Provider& provider, const std::string& model) {
  // Several blocks of any size that is in use, and the same twice: the second finds the first.
  std::string body = R"({"model":)";
  openai::append_json_string(body, model);
  body += R"(,"max_tokens":1,"prompt":")";
  for (int i = 0; i < 200; ++i) {
    body += "one two three ";
  }
  ToolRequest request = ask(provider, "/v1/completions");
  request.method = "POST";
  request.body = body + "\"}";
  request.timeout = kPatienceWithPrompt;
  return {request, request};
}

void judge_usage(const config::Provider& provider, const std::set<std::string>& models,
                 HttpTool& http, ReplicaReport& report) {
  if (models.empty()) {
    return;
  }
  Answer last;
  for (ToolRequest& request : prompts(provider, *models.begin())) {
    last = http.send(std::move(request));
  }
  if (!is_ok(last)) {
    return;  // not a model that completes: an embedding model, say
  }
  const bool told = last->body.find("\"cached_tokens\"") != std::string::npos;
  report.cached_tokens = told ? "told" : "not told";
  if (!told) {
    report.findings.push_back(
        "its usage does not tell cached tokens, so that hit rates stay unknown: start it with "
        "--enable-prompt-tokens-details");
  }
}

void judge_lmcache(const config::Provider& provider, HttpTool& http, ReplicaReport& report) {
  if (!provider.lmcache) {
    return;
  }
  ToolRequest request{.url = provider.lmcache->endpoint, .ca_files = provider.ca_bundles};
  request.timeout = kPatience;
  const Answer answer = http.send(std::move(request));
  const auto reading =
      is_ok(answer)
          ? feeds::read_lmcache_answer(provider.lmcache->format, answer->body)
          : Result<cluster::LmcacheReading>(
                fail(ErrorKind::kUnavailable,
                     answer ? fmt::format("answered {}", answer->status) : answer.error().message));
  if (reading) {
    report.lmcache = fmt::format("{:.0f} % full", reading->occupancy * 100);
  } else {
    report.lmcache = reading.error().message;
    report.findings.push_back(
        fmt::format("its LMCache cannot be read ({}): check lmcache.endpoint and lmcache.format",
                    reading.error().message));
  }
}

ReplicaReport judge(const config::Config& config, std::size_t index,
                    std::span<const Answer> answers, HttpTool& http) {
  const config::Provider& provider = config.providers[index];
  ReplicaReport report;
  report.provider = provider.name;
  const Answer& health = answers[kHealth];
  if (!health) {
    report.state = health.error().message;
    report.findings.push_back(
        fmt::format("it cannot be reached at {} ({}): is it running, and is "
                    "api_base right?",
                    config::to_string(provider.api_base), report.state));
    return report;
  }
  report.state = health->status == 200
                     ? "up"
                     : fmt::format("{} answers {}", config.health.path, health->status);
  if (health->status != 200) {
    report.findings.push_back(report.state + ": look at its log");
  }
  if (const auto version = is_ok(answers[kVersion])
                               ? Json(answers[kVersion]->body).strings("version")
                               : std::vector<std::string>();
      !version.empty()) {
    report.engine = "vllm " + version.front();
  }
  const auto models = expected_models(config, index);
  judge_models(answers[kModels], models, report);
  judge_cache(answers[kMetrics], report);
  judge_block_size(provider, report);
  judge_events(answers[kEvents], provider, report);
  judge_usage(provider, models, http, report);
  judge_lmcache(provider, http, report);
  return report;
}

}  // namespace

std::vector<ReplicaReport> check_replicas(const config::Config& config, HttpTool& http) {
  const std::vector<Answer> answers = http.send_all(questions(config));
  std::vector<ReplicaReport> reports;
  for (std::size_t i = 0; i < config.providers.size(); ++i) {
    reports.push_back(
        judge(config, i, std::span(answers).subspan(i * kQuestions, kQuestions), http));
  }
  return reports;
}

}  // namespace rolter::cli
