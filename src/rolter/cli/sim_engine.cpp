#include <pthread.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <memory>
#include <string>

#include "rolter/cli/command.h"
#include "rolter/cli/signals.h"
#include "rolter/runtime/logs.h"
#include "rolter/runtime/loop_thread.h"
#include "rolter/runtime/system_clock.h"
#include "rolter/simulator/sim_engine.h"

namespace rolter::cli {
namespace {

using simulator::EngineOptions;
using simulator::EventEncoding;
using simulator::HashEncoding;
using simulator::ReplayFrames;

struct SimEngineArguments {
  EngineOptions engine;
  double shutdown_timeout_s = 0.0;
  std::size_t step_tokens = 0;
  std::string kv_encoding = "map";
  std::string kv_hashes = "integer";
};

constexpr int kClosedSignal = SIGUSR1;  // raised by ourselves when nothing of the engine runs

/// SIGTERM ends the engine as it ends a vLLM: with a shutdown timeout by draining, without one by
/// leaving open answers hanging. A second signal, and SIGINT, kill.
void run_until_closed(runtime::LoopThread& thread, simulator::SimEngine& engine,
                      const sigset_t& signals, double shutdown_timeout_s) {
  const pthread_t waiting = pthread_self();
  bool told = false;
  while (true) {
    const int signal = next_signal(signals);
    if (signal == kClosedSignal) {
      return;
    }
    thread.run([&] {
      if (told || signal == SIGINT) {
        engine.kill();
      } else if (shutdown_timeout_s > 0.0) {
        engine.drain(std::chrono::duration_cast<Duration>(
            std::chrono::duration<double>(shutdown_timeout_s)));
      } else {
        engine.hang();
      }
      if (!told) {
        engine.when_closed([waiting] { pthread_kill(waiting, kClosedSignal); });
      }
    });
    told = true;
  }
}

int run_sim_engine(SimEngineArguments arguments) {
  EngineOptions& options = arguments.engine;
  options.limits.max_step_tokens =
      arguments.step_tokens > 0
          ? arguments.step_tokens
          : simulator::default_step_tokens(options.speed.prefill_tps, options.limits.block_size);
  if (arguments.kv_encoding == "array") {
    options.kv_events.encoding = EventEncoding::kArray;
    options.kv_events.replay_frames = ReplayFrames::kWithoutTopic;
  }
  if (arguments.kv_hashes == "bytes") {
    options.kv_events.hashes = HashEncoding::kBytes;
  }
  // Before the thread starts, so that it leaves the signals to sigwait().
  const sigset_t signals = take_over_signals({SIGTERM, SIGINT, kClosedSignal});
  const runtime::SystemClock clock;
  runtime::Logs logs(config::Log{.format = "text", .access = false});
  runtime::LoopThread thread("sim-engine", clock, logs.app);
  thread.start();
  std::unique_ptr<simulator::SimEngine> engine;
  Result<void> started;
  thread.run([&] {
    engine = std::make_unique<simulator::SimEngine>(
        thread.loop(), options, [&logs](std::string_view task, const std::exception& bug) {
          logs.app.error("bug: task {} ended with an exception: {}", task, bug.what());
        });
    started = engine->start();
  });
  if (started) {
    std::fprintf(stderr, "listening on http://%s:%u\n", options.host.c_str(), engine->port());
    run_until_closed(thread, *engine, signals, arguments.shutdown_timeout_s);
  } else {
    std::fprintf(stderr, "rolter: error: %s\n", started.error().message.c_str());
  }
  thread.run([&] { engine.reset(); });
  thread.join();
  return started ? 0 : 1;
}

void add_engine_options(CLI::App& command, SimEngineArguments& arguments) {
  EngineOptions& engine = arguments.engine;
  command.add_option("--port", engine.port, "Port to listen on; 0 takes a free one")->required();
  command.add_option("--model", engine.model, "Name the model is served under")->required();
  command.add_option("--host", engine.host, "Address to listen on")->capture_default_str();
  command.add_option("--adapters", engine.adapters, "LoRA adapters served beside the model")
      ->delimiter(',');
  command.add_option("--blocks", engine.limits.blocks, "KV-cache blocks, as vLLM's num_gpu_blocks")
      ->check(CLI::Range(2U, 100'000'000U))
      ->capture_default_str();
  command.add_option("--block-size", engine.limits.block_size, "Tokens per block")
      ->check(CLI::Range(1U, 65'536U))
      ->capture_default_str();
  command
      .add_option("--prefill-tps", engine.speed.prefill_tps,
                  "Prompt tokens per second of the whole engine; 0 = takes no time")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command
      .add_option("--decode-tps", engine.speed.decode_tps,
                  "Generated tokens per second of each request; 0 = takes no time")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command.add_option("--max-running", engine.limits.max_running, "Requests computed at a time")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command
      .add_option("--max-queued", engine.max_queued,
                  "Unfinished requests beyond which the answer is 503; 0 = no limit")
      ->capture_default_str();
  command
      .add_option("--step-tokens", arguments.step_tokens,
                  "Prefill chunk; 0 = 2048, or what takes 128 ms if that is less")
      ->capture_default_str();
  command.add_option("--max-model-len", engine.limits.max_model_len, "Longest prompt and reply")
      ->check(CLI::Range(2U, 100'000'000U))
      ->capture_default_str();
  command.add_option("--dp-size", engine.dp_size, "Data-parallel ranks, each with its own cache")
      ->check(CLI::Range(1U, 64U))
      ->capture_default_str();
  command.add_option("--seed", engine.seed, "Of the replies")->capture_default_str();
  command
      .add_option("--shutdown-timeout", arguments.shutdown_timeout_s,
                  "Seconds SIGTERM lets running requests finish; 0 = they hang, as vLLM's do")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
}

void add_event_options(CLI::App& command, SimEngineArguments& arguments) {
  EngineOptions& engine = arguments.engine;
  command.add_option("--kv-events", engine.kv_events.endpoint,
                     "Where KV events are published, tcp://*:5557; none without");
  command.add_option("--kv-replay", engine.kv_events.replay_endpoint,
                     "Where missed events can be asked for, tcp://*:5657");
  command.add_option("--kv-topic", engine.kv_events.topic, "Topic of the events; vLLM's is empty");
  command
      .add_option("--kv-encoding", arguments.kv_encoding,
                  "map (vLLM >= 0.24) or array (before; replays come without the topic then)")
      ->check(CLI::IsMember({"map", "array"}))
      ->capture_default_str();
  command.add_option("--kv-hashes", arguments.kv_hashes, "integer or bytes")
      ->check(CLI::IsMember({"integer", "bytes"}))
      ->capture_default_str();
  command.add_option("--kv-buffer-steps", engine.kv_events.buffer_steps, "Batches kept for replay")
      ->capture_default_str();
  command.add_flag("!--no-prompt-tokens-details", engine.prompt_tokens_details,
                   "Do not tell cached tokens, as vLLM without --enable-prompt-tokens-details");
  command.add_flag("--request-id-headers", engine.request_id_headers,
                   "Echo X-Request-Id, as vLLM with --enable-request-id-headers");
}

}  // namespace

void add_sim_engine(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("sim-engine", "Run a simulated vLLM replica");
  auto arguments = std::make_shared<SimEngineArguments>();
  add_engine_options(*command, *arguments);
  add_event_options(*command, *arguments);
  command->callback([arguments, &exit_code] { exit_code = run_sim_engine(*arguments); });
}

}  // namespace rolter::cli
