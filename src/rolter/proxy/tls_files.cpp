#include "rolter/proxy/tls_files.h"

#include <map>
#include <string>
#include <utility>

namespace rolter::proxy {
namespace {

using Context = std::shared_ptr<const http::TlsContext>;

/// One context for all providers with the same authorities: the system's alone take milliseconds.
class Clients {
 public:
  Result<Context> get(const std::vector<std::string>& ca_files) {
    Context& known = by_files_[ca_files];
    if (!known) {
      auto made = http::TlsContext::for_client(ca_files);
      if (!made) {
        return made;
      }
      known = std::move(*made);
    }
    return known;
  }

 private:
  std::map<std::vector<std::string>, Context> by_files_;
};

}  // namespace

Result<TlsFiles> load_tls_files(const config::Config& config) {
  TlsFiles files;
  if (config.server.tls) {
    auto server = http::TlsContext::for_server(config.server.tls->cert, config.server.tls->key);
    if (!server) {
      return std::unexpected(std::move(server.error()));
    }
    files.server = std::move(*server);
  }
  Clients clients;
  for (const config::Provider& provider : config.providers) {
    Context& context = files.clients.emplace_back();
    if (provider.api_base.tls || (provider.lmcache && provider.lmcache->endpoint.tls)) {
      auto made = clients.get(provider.ca_bundles);
      if (!made) {
        made.error().message = "providers: " + provider.name + ": " + made.error().message;
        return std::unexpected(std::move(made.error()));
      }
      context = std::move(*made);
    }
  }
  return files;
}

}  // namespace rolter::proxy
