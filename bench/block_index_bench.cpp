// The exact index: applying events, decoding and applying them, looking chains up, and its memory.
// items/s counts blocks: a stored one and a removed one are two.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "bench/allocations.h"
#include "rolter/kvcache/block_index.h"
#include "rolter/kvcache/kv_event_decoder.h"
#include "tests/fakes/msgpack_writer.h"

namespace {

using rolter::ReplicaSlot;
using rolter::TokenId;
using rolter::bench::AllocationCounter;
using rolter::kvcache::BlockIndex;
using rolter::kvcache::BlockRemoved;
using rolter::kvcache::BlockStored;
using rolter::kvcache::ChainKey;
using rolter::kvcache::EngineHash;
using rolter::kvcache::StreamId;

constexpr std::uint32_t kBlockSize = 16;
constexpr std::size_t kChainBlocks = 32;

/// The nth distinct chain: tokens and engine hashes that follow from its number.
struct Chain {
  explicit Chain(std::uint64_t number, std::size_t blocks = kChainBlocks) {
    std::mt19937_64 random(number);
    hashes.resize(blocks);
    for (EngineHash& hash : hashes) {
      hash = EngineHash{random()};
    }
    tokens.resize(blocks * kBlockSize);
    for (std::size_t i = 0; i < tokens.size(); i += 2) {
      const std::uint64_t bits = random();
      tokens[i] = static_cast<TokenId>(bits % 128'000);
      tokens[i + 1] = static_cast<TokenId>((bits >> 32) % 128'000);
    }
  }

  [[nodiscard]] BlockStored stored() const {
    return {.hashes = hashes, .tokens = tokens, .block_size = kBlockSize};
  }
  [[nodiscard]] std::vector<ChainKey> keys() const {
    std::vector<ChainKey> out;
    rolter::kvcache::chain_keys(tokens, kBlockSize, {}, out);
    return out;
  }

  std::vector<EngineHash> hashes;
  std::vector<TokenId> tokens;
};

/// An index of `pairs` (block, stream) pairs in which each chain is held by all `streams`.
struct Filled {
  Filled(std::size_t pairs, std::size_t stream_count) {
    for (std::size_t i = 0; i < stream_count; ++i) {
      const ReplicaSlot replica{static_cast<std::uint32_t>(i)};
      streams.push_back(index.add_stream({.replica = replica, .max_blocks = pairs * 2}).value());
      index.set_usable(streams.back(), true);
    }
    chains = pairs / stream_count / kChainBlocks;
    for (std::uint64_t number = 0; number < chains; ++number) {
      const Chain chain(number);
      for (const StreamId stream : streams) {
        index.begin(stream).stored(chain.stored());
      }
    }
  }

  BlockIndex index;
  std::vector<StreamId> streams;
  std::uint64_t chains = 0;
};

void report_memory(benchmark::State& state, const BlockIndex& index) {
  const auto stats = index.stats();
  state.counters["pairs"] = static_cast<double>(stats.pairs);
  state.counters["bytes/pair"] =
      static_cast<double>(stats.bytes) / static_cast<double>(stats.pairs);
}

/// An engine at work: each step evicts the blocks of one chain and stores another one. Arguments:
/// pairs, holders per block.
void BM_Apply(benchmark::State& state) {
  const auto stream_count = static_cast<std::size_t>(state.range(1));
  Filled filled(static_cast<std::size_t>(state.range(0)), stream_count);
  constexpr std::size_t kPool = 512;  // chains made beforehand
  std::vector<std::pair<Chain, Chain>> work;
  for (std::uint64_t i = 0; i < kPool; ++i) {
    work.emplace_back(Chain(i), Chain(filled.chains + i));
  }
  const AllocationCounter allocations;
  std::size_t step = 0;
  for (auto _ : state) {
    const std::size_t turn = step / kPool / stream_count;
    const StreamId stream = filled.streams[step % stream_count];
    const auto& [one, other] = work[step / stream_count % kPool];
    const Chain& leaving = turn % 2 == 0 ? one : other;
    const Chain& coming = turn % 2 == 0 ? other : one;
    auto batch = filled.index.begin(stream);
    batch.removed({.hashes = leaving.hashes});  // as the decoder delivers a run of removals
    batch.stored(coming.stored());
    ++step;
  }
  allocations.report(state);
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(2 * kChainBlocks));
  report_memory(state, filled.index);
}

std::string encode(const Chain& leaving, const Chain& coming) {
  using namespace rolter::fakes;
  std::vector<Packed> events;
  const auto scope = [](std::vector<std::pair<std::string_view, Packed>> fields) {
    fields.emplace_back("medium", text("GPU"));
    fields.emplace_back("group_idx", number(0));
    return map(fields);
  };
  for (const EngineHash hash : leaving.hashes) {
    events.push_back(scope({{"type", text("BlockRemoved")},
                            {"block_hashes", numbers({static_cast<std::uint64_t>(hash)})}}));
  }
  std::vector<Packed> hashes;
  for (const EngineHash hash : coming.hashes) {
    hashes.push_back("\xcf" + big_endian(static_cast<std::uint64_t>(hash), 8));
  }
  std::vector<Packed> tokens;
  for (const TokenId token : coming.tokens) {
    tokens.push_back("\xce" + big_endian(token, 4));
  }
  events.push_back(scope({{"type", text("BlockStored")},
                          {"block_hashes", array(hashes)},
                          {"parent_block_hash", nil()},
                          {"token_ids", array(tokens)},
                          {"block_size", number(kBlockSize)},
                          {"lora_id", nil()}}));
  return batch(events);
}

/// The same from MessagePack, maps as vLLM >= 0.24 writes them.
void BM_DecodeAndApply(benchmark::State& state) {
  const auto stream_count = static_cast<std::size_t>(state.range(1));
  Filled filled(static_cast<std::size_t>(state.range(0)), stream_count);
  constexpr std::size_t kPool = 256;
  std::vector<std::pair<std::string, std::string>> work;
  for (std::uint64_t i = 0; i < kPool; ++i) {
    const Chain one(i);
    const Chain other(filled.chains + i);
    work.emplace_back(encode(one, other), encode(other, one));
  }
  rolter::kvcache::KvEventDecoder decoder;
  const AllocationCounter allocations;
  std::size_t step = 0;
  for (auto _ : state) {
    const std::size_t turn = step / kPool / stream_count;
    const StreamId stream = filled.streams[step % stream_count];
    const auto& [there, back] = work[step / stream_count % kPool];
    const std::string& payload = turn % 2 == 0 ? there : back;
    auto batch = filled.index.begin(stream);
    const auto summary = decoder.decode(std::as_bytes(std::span(payload)), batch);
    benchmark::DoNotOptimize(summary);
    ++step;
  }
  allocations.report(state);
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(2 * kChainBlocks));
}

/// As prompts are stored: all blocks at once.
void store_whole(Filled& filled, const Chain& chain) {
  for (const StreamId stream : filled.streams) {
    filled.index.begin(stream).stored(chain.stored());
  }
}

/// As replies are: block by block, while those of others come.
void store_scattered(Filled& filled, const Chain& chain) {
  const Chain other(2'000'000, chain.hashes.size());
  for (std::size_t i = 0; i < chain.hashes.size(); ++i) {
    for (const Chain* const one : {&chain, &other}) {
      for (const StreamId stream : filled.streams) {
        filled.index.begin(stream).stored(
            {.hashes = std::span(one->hashes).subspan(i, 1),
             .parent = i == 0 ? std::nullopt : std::optional(one->hashes[i - 1]),
             .tokens = std::span(one->tokens).subspan(i * kBlockSize, kBlockSize),
             .block_size = kBlockSize});
      }
    }
  }
}

/// One chain, held by all. Arguments: blocks, holders.
template <void (*kStore)(Filled&, const Chain&)>
void BM_Lookup(benchmark::State& state) {
  const auto blocks = static_cast<std::size_t>(state.range(0));
  Filled filled(1'000'000, static_cast<std::size_t>(state.range(1)));
  const Chain chain(1'000'000, blocks);
  kStore(filled, chain);
  const auto keys = chain.keys();
  std::vector<std::uint32_t> found(filled.streams.size());
  const AllocationCounter allocations;
  for (auto _ : state) {
    filled.index.lookup(keys, filled.streams, found);
    benchmark::DoNotOptimize(found.data());
  }
  if (found.back() != blocks) {
    state.SkipWithError("not exact");
  }
  allocations.report(state);
  state.counters["per_block"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * static_cast<double>(blocks),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

/// Another of many chains each time, out of the caches. Arguments: pairs, holders.
void BM_LookupCold(benchmark::State& state) {
  Filled filled(static_cast<std::size_t>(state.range(0)), static_cast<std::size_t>(state.range(1)));
  std::vector<std::vector<ChainKey>> chains;
  for (std::uint64_t number = 0; number < filled.chains; ++number) {
    chains.push_back(Chain(number).keys());
  }
  std::vector<std::uint32_t> found(filled.streams.size());
  std::size_t next = 0;
  for (auto _ : state) {
    filled.index.lookup(chains[next], filled.streams, found);
    benchmark::DoNotOptimize(found.data());
    next = (next + 7919) % chains.size();
  }
  state.counters["per_block"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * kChainBlocks,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

/// Token ids into keys. Argument: blocks.
void BM_ChainKeys(benchmark::State& state) {
  const Chain chain(1, static_cast<std::size_t>(state.range(0)));
  std::vector<ChainKey> keys;
  for (auto _ : state) {
    rolter::kvcache::chain_keys(chain.tokens, kBlockSize, {}, keys);
    benchmark::DoNotOptimize(keys.data());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

/// Bytes per pair. Arguments: pairs, holders per block.
void BM_Memory(benchmark::State& state) {
  for (auto _ : state) {
    const Filled filled(static_cast<std::size_t>(state.range(0)),
                        static_cast<std::size_t>(state.range(1)));
    report_memory(state, filled.index);
  }
}

BENCHMARK(BM_ChainKeys)->Arg(128)->Arg(3750);
BENCHMARK(BM_Lookup<store_whole>)->Name("BM_Lookup")->Args({128, 16})->Args({3750, 96});
BENCHMARK(BM_Lookup<store_scattered>)
    ->Name("BM_LookupScattered")
    ->Args({128, 16})
    ->Args({3750, 96});
BENCHMARK(BM_LookupCold)->Args({1'000'000, 16})->Args({1'000'000, 1});
BENCHMARK(BM_Apply)->Args({1'000'000, 16})->Args({1'000'000, 1})->Args({10'000'000, 16});
BENCHMARK(BM_DecodeAndApply)->Args({1'000'000, 16});
BENCHMARK(BM_Memory)
    ->Args({10'000'000, 16})
    ->Args({10'000'000, 1})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);

}  // namespace
