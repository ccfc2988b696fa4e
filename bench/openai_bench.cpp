// What reading a request or an answer costs. The budget for a 2.4 KB chat request is about 1 us,
// for a 240-byte chunk of a stream well below that.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdlib>
#include <new>
#include <string>
#include <string_view>

#include "rolter/openai/request_view.h"
#include "rolter/openai/stream_observer.h"

namespace {

std::size_t allocations = 0;

}  // namespace

void* operator new(std::size_t size) {
  ++allocations;
  // allowed(naked-new): this is operator new
  if (void* const memory = std::malloc(size); memory != nullptr) {
    return memory;
  }
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  // allowed(naked-new): this is operator delete
  std::free(memory);
}
void operator delete(void* memory, std::size_t /*size*/) noexcept {
  operator delete(memory);
}

namespace rolter::openai {
namespace {

/// Reports the allocations of the loop it outlives, per iteration.
class AllocationCount {
 public:
  explicit AllocationCount(benchmark::State& state) : state_(state) {}
  ~AllocationCount() {
    state_.counters["allocations"] = benchmark::Counter(static_cast<double>(allocations - before_),
                                                        benchmark::Counter::kAvgIterations);
  }
  AllocationCount(const AllocationCount&) = delete;
  AllocationCount& operator=(const AllocationCount&) = delete;

 private:
  benchmark::State& state_;
  std::size_t before_ = allocations;
};

std::string padded(std::string body) {
  body.append(RequestParser::kPadding, '\0');
  return body;
}

/// A conversation of `turns` messages with `bytes` bytes of text each.
std::string chat_body(std::size_t turns, std::size_t bytes, std::string_view text) {
  std::string body = R"({"model":"llama","temperature":0.7,"max_tokens":256,"messages":[)";
  for (std::size_t turn = 0; turn < turns; ++turn) {
    body += turn == 0 ? "" : ",";
    body += turn % 2 == 0 ? R"({"role":"user","content":")" : R"({"role":"assistant","content":")";
    const std::size_t begin = body.size();
    while (body.size() < begin + bytes) {
      body += text;
    }
    body += "\"}";
  }
  return padded(body + R"(],"stream":true,"stream_options":{"include_usage":true}})");
}

std::string with_tools(std::size_t tools) {
  std::string body = R"({"model":"llama","tools":[)";
  for (std::size_t i = 0; i < tools; ++i) {
    body += i == 0 ? "" : ",";
    body += R"({"type": "function", "function": {"name": "tool_)" + std::to_string(i) +
            R"(", "description": "Reads a file and gives its lines with their numbers, from the one
 asked for on.", "parameters": {"type": "object", "properties": {"path": {"type": "string",
 "description": "Absolute path"}, "offset": {"type": "integer"}, "limit": {"type": "integer"}},
 "required": ["path"], "additionalProperties": false}}})";
  }
  for (char& c : body) {
    c = c == '\n' ? ' ' : c;
  }
  return padded(body + R"(],"messages":[{"role":"user","content":"hello"}]})");
}

void parse(benchmark::State& state, const std::string& body,
           Endpoint endpoint = Endpoint::kChatCompletions) {
  RequestParser parser;
  const std::string_view view(body.data(), body.size() - RequestParser::kPadding);
  (void)parser.parse(endpoint, "application/json", view);
  const AllocationCount count(state);
  for (auto _ : state) {
    auto result = parser.parse(endpoint, "application/json", view);
    if (!result) {
      state.SkipWithError(result.error().message.c_str());
      break;
    }
    benchmark::DoNotOptimize(result->prompt.root);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * view.size()));
}

constexpr std::string_view kProse = "The quick brown fox jumps over the lazy dog. ";
constexpr std::string_view kCode = R"(  if (at == end) {\n    return \"none\";\n  }\n)";

void BM_ParseChat2400(benchmark::State& state) {
  parse(state, chat_body(5, 420, kProse));
}
void BM_ParseCode200K(benchmark::State& state) {
  parse(state, chat_body(100, 2000, kCode));
}
void BM_ParseTools20K(benchmark::State& state) {
  parse(state, with_tools(50));
}
void BM_ParseOneMessage12M(benchmark::State& state) {
  parse(state, chat_body(1, 12'000'000, kProse));
}
void BM_ParseMessages100000(benchmark::State& state) {
  parse(state, chat_body(100'000, 80, kProse));
}
void BM_ParseTokenIds10000(benchmark::State& state) {
  std::string body = R"({"model":"llama","prompt":[1)";
  for (int i = 0; i < 10'000; ++i) {
    body += ", " + std::to_string(i * 7 % 128'000);
  }
  parse(state, padded(body + "]}"), Endpoint::kCompletions);
}
BENCHMARK(BM_ParseChat2400);
BENCHMARK(BM_ParseCode200K);
BENCHMARK(BM_ParseTools20K);
BENCHMARK(BM_ParseOneMessage12M);
BENCHMARK(BM_ParseMessages100000);
BENCHMARK(BM_ParseTokenIds10000);

void BM_ParseForm25M(benchmark::State& state) {
  std::string body = "--b\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\n";
  std::uint32_t noise = 1;
  for (int i = 0; i < 25'000'000; ++i) {
    noise = noise * 1664525 + 1013904223;
    body.push_back(static_cast<char>(noise >> 24));
  }
  body += "\r\n--b\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nwhisper\r\n--b--\r\n";
  RequestParser parser;
  for (auto _ : state) {
    auto result = parser.parse(Endpoint::kAudio, "multipart/form-data; boundary=b", body);
    benchmark::DoNotOptimize(result->model);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * body.size()));
}
BENCHMARK(BM_ParseForm25M);

/// A chunk as vLLM 0.32 sends it.
std::string chunk(std::string_view more) {
  return R"(data: {"id":"chatcmpl-a81c4958817fe46b","object":"chat.completion.chunk",)"
         R"("created":1796024158,"model":"meta-llama/Llama-3.1-8B-Instruct","choices":[{"index":0,)"
         R"("delta":{"content":" though"},"logprobs":null,"finish_reason":null,"token_ids":null}])" +
         std::string(more) + "}\n\n";
}

void observe(benchmark::State& state, const std::string& bytes, std::size_t reply_bytes) {
  auto observer = make_sse_observer(Endpoint::kChatCompletions, {.reply_bytes = reply_bytes});
  observer->feed(bytes);
  const AllocationCount count(state);
  for (auto _ : state) {
    observer->feed(bytes);
    benchmark::DoNotOptimize(observer->saw_content());
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * bytes.size()));
}

void BM_SseChunk(benchmark::State& state) {
  observe(state, chunk(""), 0);
}
void BM_SseChunkWithUsage(benchmark::State& state) {
  observe(state,
          chunk(R"(,"usage":{"prompt_tokens":310,"total_tokens":311,"completion_tokens":1})"), 0);
}
void BM_SseChunkReplyKept(benchmark::State& state) {
  observe(state, chunk(""), std::size_t{1} << 40);
}
void BM_SseChunkReplyFull(benchmark::State& state) {
  observe(state, chunk(""), 5);
}
void BM_SseFirstChunk(benchmark::State& state) {
  const std::string bytes = chunk("");
  for (auto _ : state) {
    auto observer = make_sse_observer(Endpoint::kChatCompletions);
    observer->feed(bytes);
    benchmark::DoNotOptimize(observer->saw_content());
  }
}
BENCHMARK(BM_SseChunk);
BENCHMARK(BM_SseChunkWithUsage);
BENCHMARK(BM_SseChunkReplyKept);
BENCHMARK(BM_SseChunkReplyFull);
BENCHMARK(BM_SseFirstChunk);

}  // namespace
}  // namespace rolter::openai
