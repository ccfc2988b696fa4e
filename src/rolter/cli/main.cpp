#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "rolter/cli/command.h"

int main(int argc, char** argv) {
  CLI::App app{
      "Rolter: a gateway for vLLM replicas that sends each request to the replica that "
      "already holds its prompt's prefix"};
  app.name("rolter");
  app.set_version_flag("--version", ROLTER_VERSION);
  app.require_subcommand(1);
  int exit_code = 0;
  rolter::cli::add_serve(app, exit_code);
  rolter::cli::add_check(app, exit_code);
  rolter::cli::add_explain(app, exit_code);
  rolter::cli::add_drain(app, exit_code);
  rolter::cli::add_top(app, exit_code);
  rolter::cli::add_demo(app, exit_code);
  rolter::cli::add_replay(app, exit_code);
  rolter::cli::add_sim_engine(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rolter: error: %s\n", error.what());
    return 1;
  }
  return exit_code;
}
