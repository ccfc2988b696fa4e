#pragma once

#include <memory>
#include <vector>

#include "rolter/config/config.h"
#include "rolter/http/tls.h"

namespace rolter::proxy {

/// The certificates that a configuration names, read anew for each: a reload picks up what has been
/// renewed.
struct TlsFiles {
  std::shared_ptr<const http::TlsContext> server;  // null: plain HTTP
  // As Config::providers, for a provider's servers; null when it has none with https.
  std::vector<std::shared_ptr<const http::TlsContext>> clients;
};

/// The error names the key and the file.
[[nodiscard]] Result<TlsFiles> load_tls_files(const config::Config& config);

}  // namespace rolter::proxy
