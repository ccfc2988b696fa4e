// Load for one HTTP server on loopback, every answer compared byte for byte with the one due from
// fake_upstream. One thread. Prints one line of JSON.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "bench/loadgen/load_run.h"

namespace {

using rolter::loadgen::LoadOptions;
using rolter::loadgen::LoadResult;
using rolter::loadgen::Mode;

void print_quantiles(const char* name, std::vector<rolter::loadgen::Nanoseconds>& values) {
  std::ranges::sort(values);
  for (const auto& [label, share] : {std::pair{"p50", 0.5}, {"p99", 0.99}}) {
    if (values.empty()) {
      std::printf(",\"%s_%s_us\":null", name, label);
      continue;
    }
    const auto at = static_cast<std::size_t>(static_cast<double>(values.size()) * share);
    std::printf(",\"%s_%s_us\":%.1f", name, label,
                static_cast<double>(values[std::min(at, values.size() - 1)]) / 1000.0);
  }
}

void print_result(LoadResult& result) {
  std::printf("{\"right\":%llu,\"wrong\":%llu,\"chunks\":%llu,\"seconds\":%.3f",
              static_cast<unsigned long long>(result.right),
              static_cast<unsigned long long>(result.wrong),
              static_cast<unsigned long long>(result.chunks), result.seconds);
  print_quantiles("latency", result.latency);
  print_quantiles("first_byte", result.first_byte);
  std::puts("}");
}

}  // namespace

int main(int argc, char** argv) {
  LoadOptions options;
  CLI::App app("Load for one HTTP server on loopback; one line of JSON at the end");
  const std::vector<std::pair<std::string, Mode>> modes{
      {"closed", Mode::kClosed}, {"rate", Mode::kRate}, {"idle", Mode::kIdle}};
  app.add_option("mode", options.mode)->required()->transform(CLI::CheckedTransformer(modes));
  app.add_option("--port", options.requests.port)->required();
  app.add_option("--connections", options.connections);
  app.add_option("--seconds", options.seconds);
  app.add_option("--rate", options.rate, "requests a second");
  app.add_option("--body-bytes", options.requests.body_bytes);
  app.add_option("--conversations", options.requests.conversations);
  app.add_option("--model", options.requests.model);
  app.add_option("--key", options.requests.key, "bearer token");
  app.add_flag("--stream", options.requests.stream);
  app.add_option("--chunks", options.requests.max_tokens, "content chunks of a stream");
  app.add_option("--pace-us", options.requests.pace.microseconds, "between chunks");
  CLI11_PARSE(app, argc, argv);
  if (options.mode == Mode::kIdle) {
    options.requests.stream = true;
    options.requests.pace.microseconds = rolter::loadgen::Pace::kIdle;
  }
  std::signal(SIGPIPE, SIG_IGN);
  LoadResult result = rolter::loadgen::LoadRun(options).run();
  print_result(result);
  return 0;
}
