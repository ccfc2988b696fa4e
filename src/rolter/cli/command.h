#pragma once

namespace CLI {
class App;
}

namespace rolter::cli {

/// Each command adds itself to the application; its callback sets `exit_code`.
void add_serve(CLI::App& app, int& exit_code);
void add_check(CLI::App& app, int& exit_code);
void add_demo(CLI::App& app, int& exit_code);
void add_explain(CLI::App& app, int& exit_code);
void add_drain(CLI::App& app, int& exit_code);
void add_top(CLI::App& app, int& exit_code);
void add_replay(CLI::App& app, int& exit_code);
void add_sim_engine(CLI::App& app, int& exit_code);

}  // namespace rolter::cli
