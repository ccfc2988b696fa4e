#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "rolter/cli/http_tool.h"
#include "rolter/config/config.h"

namespace CLI {
class App;
}

namespace rolter::cli {

/// Which gateway a command asks.
struct AdminOptions {
  std::string config;  // tells address and token; "" = none
  std::string url;     // of the admin listener; "" = the configuration's, or http://127.0.0.1:4001
  std::string token_env = "ROLTER_ADMIN_TOKEN";
};

/// Adds -c, --url and --token-env.
void add_admin_options(CLI::App& command, AdminOptions& options);

/// Asks the admin listener of a running gateway.
class AdminClient {
 public:
  /// The error says what is wrong with the options. With a configuration, the URL of its API is
  /// understood as well: the admin listener is next to it.
  [[nodiscard]] static Result<AdminClient> make(const AdminOptions& options,
                                                const std::optional<config::Config>& config);

  /// An answer of 2xx, or the error to show: what the listener said, or why it cannot be reached.
  [[nodiscard]] Result<feeds::GetAnswer> ask(HttpTool& http, ToolRequest request,
                                             std::string_view path) const;

 private:
  AdminClient(config::Url url, std::string fields)
      : url_(std::move(url)), fields_(std::move(fields)) {}

  config::Url url_;
  std::string fields_;
};

/// The "message" of an error body; the body itself when there is none.
[[nodiscard]] std::string error_message(const std::string& body);

}  // namespace rolter::cli
