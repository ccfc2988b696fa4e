#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>

#include "rolter/admin/explainer.h"
#include "rolter/cli/admin_client.h"
#include "rolter/cli/command.h"
#include "rolter/cli/complain.h"
#include "rolter/cli/config_file.h"
#include "rolter/proxy/state_builder.h"
#include "rolter/proxy/tls_files.h"

namespace rolter::cli {
namespace {

struct ExplainOptions {
  AdminOptions admin;
  std::string path;
  std::string session;
  bool json = false;
  bool text = false;

  /// A person at a terminal reads, a pipe is read by a program.
  [[nodiscard]] bool wants_text() const { return text || (!json && ::isatty(STDOUT_FILENO) == 1); }
};

int show(std::string text) {
  if (!text.ends_with('\n')) {
    text += '\n';
  }
  std::fputs(text.c_str(), stdout);
  return 0;
}

/// From the configuration alone: nothing cached, nothing in flight, everything up.
int explain_cold(const ExplainOptions& options, config::Config config, std::string body) {
  runtime::SystemClock clock;
  telemetry::MetricsRegistry metrics(1, {}, {});
  proxy::StateBuilder builder(metrics, make_seeded_rng()());
  auto tls = proxy::load_tls_files(config);
  if (!tls) {
    return complain(tls.error().message);
  }
  const auto built = builder.build(std::move(config), std::move(*tls), clock.now());
  const std::size_t length = body.size();
  body.append(openai::RequestParser::kPadding, '\0');
  admin::Explainer explainer(make_seeded_rng());
  const auto explanation =
      explainer.explain(*built.state, {.path = options.path,
                                       .body = std::string_view(body).substr(0, length),
                                       .session = options.session,
                                       .now = clock.now()});
  if (!explanation) {
    return complain(error_message(explanation.error().body));
  }
  return show(options.wants_text() ? admin::to_text(*explanation) : admin::to_json(*explanation));
}

std::string percent_encoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

int explain_live(const ExplainOptions& options, const std::optional<config::Config>& config,
                 std::string body) {
  auto client = AdminClient::make(options.admin, config);
  if (!client) {
    return complain(client.error().message);
  }
  ToolRequest request{.method = "POST", .body = std::move(body)};
  if (!options.session.empty()) {
    request.fields += fmt::format("X-Session-ID: {}\r\n", options.session);
  }
  if (options.wants_text()) {
    request.fields += "Accept: text/plain\r\n";
  }
  HttpTool http;
  const auto answer =
      client->ask(http, std::move(request),
                  options.path.empty() ? "/admin/explain"
                                       : "/admin/explain?path=" + percent_encoded(options.path));
  return answer ? show(answer->body) : complain(answer.error().message);
}

int explain(const ExplainOptions& options) {
  if (options.admin.config.empty() && options.admin.url.empty()) {
    return complain("give a configuration with -c, or a running gateway with --url");
  }
  std::optional<config::Config> config;
  if (!options.admin.config.empty()) {
    config = read_config_file(options.admin.config);
    if (!config) {
      return 1;
    }
  }
  std::string body{std::istreambuf_iterator<char>(std::cin), {}};
  if (body.find_first_not_of(" \t\r\n") == std::string::npos) {
    return complain("no request: give its JSON body on standard input, as in `< request.json`");
  }
  return options.admin.url.empty() ? explain_cold(options, std::move(*config), std::move(body))
                                   : explain_live(options, config, std::move(body));
}

}  // namespace

void add_explain(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "explain",
      "Say where a request (its JSON body on standard input) would go, and why. With --url as the "
      "running gateway would decide now; without, as one that has just started with this file");
  auto options = std::make_shared<ExplainOptions>();
  add_admin_options(*command, options->admin);
  command->add_option("--path", options->path,
                      "Path of the API it is meant for; by default told from the body");
  command->add_option("--session", options->session, "Value of its x-session-id header");
  auto* json = command->add_flag("--json", options->json, "JSON, also on a terminal");
  command->add_flag("--text", options->text, "A table, also into a pipe")->excludes(json);
  command->callback([options, &exit_code] { exit_code = explain(*options); });
}

}  // namespace rolter::cli
