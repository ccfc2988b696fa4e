#include "rolter/cli/admin_client.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <utility>

#include "rolter/openai/json_document.h"
#include "rolter/openai/json_string.h"

namespace rolter::cli {
namespace {

constexpr std::string_view kUsualUrl = "http://127.0.0.1:4001";

/// An address that can be connected to, for one that is listened on.
std::string reachable(const std::string& host) {
  return host == "0.0.0.0" ? "127.0.0.1" : host == "::" ? "::1" : host;
}

std::string token_of(const AdminOptions& options, const std::optional<config::Config>& config) {
  if (config && !config->admin.token.empty()) {
    return config->admin.token.reveal();
  }
  const char* value = std::getenv(options.token_env.c_str());
  return value != nullptr ? value : "";
}

}  // namespace

void add_admin_options(CLI::App& command, AdminOptions& options) {
  command.add_option("-c,--config", options.config,
                     "Configuration file, which tells the admin listener's address and token");
  command.add_option("--url", options.url, "Admin listener to ask (http://127.0.0.1:4001)");
  command
      .add_option("--token-env", options.token_env,
                  "Environment variable with the admin token, when the file does not tell it")
      ->capture_default_str();
}

Result<AdminClient> AdminClient::make(const AdminOptions& options,
                                      const std::optional<config::Config>& config) {
  config::Url url;
  if (options.url.empty() && config) {
    url.host = reachable(config->admin.host);
    url.port = config->admin.port;
  } else {
    auto parsed = config::parse_api_base(options.url.empty() ? kUsualUrl : options.url);
    if (!parsed) {
      return fail(ErrorKind::kInvalidInput, "--url: " + parsed.error());
    }
    url = std::move(*parsed);
    if (config && url.port == config->server.port && url.port != config->admin.port) {
      url.port = config->admin.port;
    }
  }
  url.base_path.clear();
  const std::string token = token_of(options, config);
  return AdminClient(std::move(url),
                     token.empty() ? "" : fmt::format("Authorization: Bearer {}\r\n", token));
}

Result<feeds::GetAnswer> AdminClient::ask(HttpTool& http, ToolRequest request,
                                          std::string_view path) const {
  request.url = url_;
  request.url.base_path = path;
  request.fields += fields_;
  const std::string where = config::to_string(url_);
  auto answer = http.send(std::move(request));
  if (!answer) {
    return fail(answer.error().kind,
                fmt::format("{}: {}; is that the admin listener of a running gateway?", where,
                            answer.error().message));
  }
  if (answer->status < 200 || answer->status > 299) {
    return fail(ErrorKind::kUnavailable, fmt::format("{} answered {}: {}", where, answer->status,
                                                     error_message(answer->body)));
  }
  return answer;
}

std::string error_message(const std::string& body) {
  std::string padded = body;
  padded.append(openai::JsonDocument::kPadding, '\0');
  const std::string_view text = std::string_view(padded).substr(0, body.size());
  openai::JsonDocument document;
  std::string message;
  if (document.read(text) || !document.is_object(document.root())) {
    return body;
  }
  document.for_each_member(document.root(), [&](std::string_view key, auto error) {
    if (key != "error" || !document.is_object(error)) {
      return;
    }
    document.for_each_member(error, [&](std::string_view name, auto value) {
      if (name == "message" && document.is_string(value)) {
        std::ignore = openai::append_unescaped(message, document.escaped(value));
      }
    });
  });
  return message.empty() ? body : message;
}

}  // namespace rolter::cli
