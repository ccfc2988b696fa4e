#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "rolter/cli/command.h"
#include "rolter/cli/config_file.h"
#include "rolter/cli/signals.h"
#include "rolter/runtime/file_watch.h"
#include "rolter/runtime/gateway.h"
#include "rolter/runtime/inherited_sockets.h"

namespace rolter::cli {
namespace {

struct ServeOptions {
  std::string config;
  std::optional<std::string> host;
  std::optional<std::uint16_t> port;
  std::optional<std::size_t> loops;
};

/// What the command line and environment say wins over the file, at reloads too.
ConfigFile read(const ServeOptions& options) {
  ConfigFile file = load_config_file(options.config);
  std::fputs(file.findings.c_str(), stderr);
  if (file.config) {
    config::Server& server = file.config->server;
    server.host = options.host.value_or(server.host);
    server.port = options.port.value_or(server.port);
    server.loops = options.loops.value_or(server.loops);
  }
  return file;
}

/// Who has asked for a reload over the admin listener and waits for its outcome. The main thread,
/// which does it, is woken as by an operator: with SIGHUP.
class ReloadDesk {
 public:
  using Done = std::function<void(admin::ReloadOutcome)>;

  void ask(Done done) {
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(std::move(done));
    }
    ::kill(::getpid(), SIGHUP);
  }
  [[nodiscard]] std::vector<Done> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(waiting_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<Done> waiting_;
};

admin::ReloadOutcome reload(runtime::Gateway& gateway, const ServeOptions& options) {
  ConfigFile file = read(options);
  admin::ReloadOutcome outcome{.findings = std::move(file.findings)};
  if (!file.config) {
    gateway.reload_refused();
    gateway.log().error("reload refused: {} has errors; the configuration in force stays",
                        options.config);
  } else if (auto reloaded = gateway.reload(std::move(*file.config)); !reloaded) {
    gateway.log().error("reload refused: {}", reloaded.error().message);
    outcome.findings += options.config + ": error: " + reloaded.error().message + '\n';
  } else {
    outcome.applied = true;
    gateway.log().info("reloaded {}, configuration version {}", options.config,
                       gateway.state()->version);
  }
  outcome.version = gateway.state()->version;
  return outcome;
}

/// What a reload reads anew: certificates are renewed without a word in the configuration.
std::vector<std::string> files_behind(const ServeOptions& options, const config::Config& config) {
  std::vector<std::string> files{options.config};
  if (config.server.tls) {
    files.push_back(config.server.tls->cert);
    files.push_back(config.server.tls->key);
  }
  for (const config::Provider& provider : config.providers) {
    files.insert(files.end(), provider.ca_bundles.begin(), provider.ca_bundles.end());
  }
  return files;
}

void reload_and_tell(runtime::Gateway& gateway, const ServeOptions& options, ReloadDesk& desk) {
  // Those who ask from now on get an outcome of their own: the file may have changed since.
  auto waiting = desk.take();
  const admin::ReloadOutcome outcome = reload(gateway, options);
  gateway.control().post([waiting = std::move(waiting), outcome] {
    for (const ReloadDesk::Done& done : waiting) {
      done(outcome);
    }
  });
}

/// The first SIGTERM drains, a second one stops at once.
int drain(runtime::Gateway& gateway, const sigset_t& signals) {
  runtime::DrainWait wait;
  std::atomic<bool> drained{false};
  std::thread second([&] {
    while (!drained.load()) {
      if (next_signal(signals) != SIGHUP) {
        wait.hurry();
      }
    }
  });
  gateway.log().info("draining");
  const runtime::DrainResult result = gateway.drain(wait);
  drained.store(true);
  ::pthread_kill(second.native_handle(), SIGHUP);
  second.join();
  if (result == runtime::DrainResult::kCut) {
    gateway.log().warn("stopped with answers still under way");
    return 3;
  }
  gateway.log().info("stopped");
  return 0;
}

int serve(const ServeOptions& options) {
  auto file = read(options);
  if (!file.config) {
    return 1;
  }
  // Before any thread starts, so that all of them leave the signals to sigwait().
  const std::vector<int> sockets = runtime::take_inherited_sockets();
  const sigset_t signals = take_over_signals({SIGTERM, SIGINT, SIGHUP});
  ReloadDesk desk;
  runtime::Gateway gateway(std::move(*file.config),
                           [&desk](ReloadDesk::Done done) { desk.ask(std::move(done)); });
  if (auto started = gateway.start(sockets); !started) {
    std::fprintf(stderr, "rolter: error: %s\n", started.error().message.c_str());
    return 1;
  }
  // The main thread reloads, woken as by an operator.
  runtime::FileWatch watch(gateway.control().loop(), [] { ::kill(::getpid(), SIGHUP); });
  std::vector<std::string> files = files_behind(options, gateway.state()->config);
  const auto follow = [&] { gateway.control().run([&] { watch.follow(files); }); };
  follow();
  if (!gateway.admin_url().empty()) {
    std::fprintf(stderr, "admin page on %s\n", gateway.admin_url().c_str());
  }
  std::fprintf(stderr, "listening on %s\n", gateway.url().c_str());
  while (true) {
    if (next_signal(signals) != SIGHUP) {
      gateway.control().run([&watch] { watch.stop(); });
      return drain(gateway, signals);
    }
    follow();  // before they are read: what changes from now on is another change
    reload_and_tell(gateway, options, desk);
    if (auto newer = files_behind(options, gateway.state()->config); newer != files) {
      files = std::move(newer);
      follow();
    }
  }
}

}  // namespace

void add_serve(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("serve", "Run the gateway");
  auto options = std::make_shared<ServeOptions>();
  command->add_option("-c,--config", options->config, "Configuration file (TOML)")
      ->required()
      ->envname("ROLTER_CONFIG");
  command->add_option("--host", options->host, "Address to listen on, instead of [server] host")
      ->envname("ROLTER_HOST");
  command->add_option("--port", options->port, "Port to listen on, instead of [server] port")
      ->envname("ROLTER_PORT");
  command->add_option("--loops", options->loops, "Event loops, instead of [server] loops")
      ->check(CLI::Range(1, 1024));
  command->callback([options, &exit_code] { exit_code = serve(*options); });
}

}  // namespace rolter::cli
