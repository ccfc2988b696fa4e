#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "rolter/cli/admin_client.h"
#include "rolter/cli/command.h"
#include "rolter/cli/config_file.h"
#include "rolter/cli/signals.h"

namespace rolter::cli {
namespace {

struct TopOptions {
  AdminOptions admin;
  bool once = false;
  double interval_secs = 1.0;
};

/// The words of a replica's state in their colours.
std::string coloured(std::string text) {
  constexpr auto kColours =
      std::to_array<std::pair<std::string_view, std::string_view>>({{" eligible ", "32"},
                                                                    {" drained ", "33"},
                                                                    {" at_cap ", "33"},
                                                                    {" down ", "31"},
                                                                    {" cooling ", "31"},
                                                                    {" breaker_open ", "31"},
                                                                    {" trial_under_way ", "31"}});
  for (const auto& [word, colour] : kColours) {
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at)) {
      const std::string painted = fmt::format("\x1b[{}m{}\x1b[0m", colour, word);
      text.replace(at, word.size(), painted);
      at += painted.size();
    }
  }
  return text;
}

/// False when it was interrupted meanwhile.
bool wait(const sigset_t& signals, double secs) {
  timespec left{};
  left.tv_sec = static_cast<std::time_t>(secs);
  left.tv_nsec = static_cast<long>((secs - static_cast<double>(left.tv_sec)) * 1e9);
  return sigtimedwait(&signals, nullptr, &left) < 0;
}

int top(const TopOptions& options) {
  std::optional<config::Config> config;
  if (!options.admin.config.empty()) {
    config = read_config_file(options.admin.config);
    if (!config) {
      return 1;
    }
  }
  const auto client = AdminClient::make(options.admin, config);
  if (!client) {
    std::fprintf(stderr, "rolter: error: %s\n", client.error().message.c_str());
    return 1;
  }
  const sigset_t signals = take_over_signals({SIGINT, SIGTERM});
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  const bool once = options.once || !terminal;
  const bool colours = terminal && std::getenv("NO_COLOR") == nullptr;
  HttpTool http;
  do {
    const auto answer = client->ask(http, {.fields = "Accept: text/plain\r\n"}, "/admin/state");
    if (!answer && once) {
      std::fprintf(stderr, "rolter: error: %s\n", answer.error().message.c_str());
      return 1;
    }
    const std::string text = answer ? answer->body : answer.error().message + "\n";
    std::fputs(once ? "" : "\x1b[H\x1b[2J", stdout);
    std::fputs((colours ? coloured(text) : text).c_str(), stdout);
    std::fflush(stdout);
  } while (!once && wait(signals, options.interval_secs));
  return 0;
}

}  // namespace

void add_top(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "top", "Show a running gateway's replicas in the terminal; once, into a pipe");
  auto options = std::make_shared<TopOptions>();
  add_admin_options(*command, options->admin);
  command->add_flag("--once", options->once, "Show them once");
  command->add_option("--interval", options->interval_secs, "Seconds between two looks")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  command->callback([options, &exit_code] { exit_code = top(*options); });
}

}  // namespace rolter::cli
