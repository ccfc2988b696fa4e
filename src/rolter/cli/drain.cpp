#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "rolter/cli/admin_client.h"
#include "rolter/cli/command.h"
#include "rolter/cli/complain.h"
#include "rolter/cli/config_file.h"
#include "rolter/openai/error_body.h"

namespace rolter::cli {
namespace {

constexpr int kAccepted = 202;  // requests are still under way
constexpr int kWaitSecs = 20;   // the listener's share of the waiting, between two lines

struct DrainOptions {
  AdminOptions admin;
  std::string target;
  bool wait = false;
  bool undo = false;
};

int drain(const DrainOptions& options) {
  std::optional<config::Config> config;
  if (!options.admin.config.empty()) {
    config = read_config_file(options.admin.config);
    if (!config) {
      return 1;
    }
  }
  auto client = AdminClient::make(options.admin, config);
  if (!client) {
    return complain(client.error().message);
  }
  std::string order = R"({"target":)";
  openai::append_json_string(order, options.target);
  HttpTool http;
  for (bool first = true;; first = false) {
    // The first answer comes at once, so that a person sees that it has begun.
    const bool waits = options.wait && !first;
    ToolRequest request{.method = "POST", .fields = "Accept: text/plain\r\n"};
    request.body = order + (waits ? fmt::format(R"(,"wait_secs":{}}})", kWaitSecs) : "}");
    request.timeout = std::chrono::seconds{kWaitSecs + 10};
    const auto answer =
        client->ask(http, std::move(request), options.undo ? "/admin/undrain" : "/admin/drain");
    if (!answer) {
      return complain(answer.error().message);
    }
    std::fputs(answer->body.c_str(), stdout);
    std::fflush(stdout);
    if (!options.wait || answer->status != kAccepted) {
      return 0;
    }
  }
}

}  // namespace

void add_drain(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "drain",
      "Take a provider of a running gateway out of every comparison; it stays out until "
      "--undo or a restart, reloads included");
  auto options = std::make_shared<DrainOptions>();
  command->add_option("TARGET", options->target, "The provider's name")->required();
  command->add_flag("--wait", options->wait, "Until its last request has ended");
  command->add_flag("--undo", options->undo, "Let it take part again");
  add_admin_options(*command, options->admin);
  command->callback([options, &exit_code] { exit_code = drain(*options); });
}

}  // namespace rolter::cli
