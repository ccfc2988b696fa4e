// Batches of KV events as an engine may send them, each after its length as two big-endian bytes:
// decoded and applied to a small index, whose bound must hold and which must be empty at the end.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "rolter/kvcache/block_index.h"
#include "rolter/kvcache/kv_event_decoder.h"

namespace {

constexpr std::size_t kMaxBlocks = 64;

void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using rolter::kvcache::BlockIndex;
  BlockIndex index;
  const auto stream = index.add_stream({.max_blocks = kMaxBlocks}).value();
  rolter::kvcache::KvEventDecoder decoder;
  std::span<const std::byte> input = std::as_bytes(std::span(data, size));
  while (input.size() >= 2) {
    const std::size_t length =
        std::to_integer<std::size_t>(input[0]) * 256 + std::to_integer<std::size_t>(input[1]);
    input = input.subspan(2);
    const auto payload = input.first(std::min(length, input.size()));
    input = input.subspan(payload.size());
    auto batch = index.begin(stream);
    if (const auto summary = decoder.decode(payload, batch)) {
      require(summary->delivered + summary->unknown + summary->malformed <= payload.size());
    }
  }
  const auto stats = index.stats();
  require(stats.pairs <= kMaxBlocks && stats.blocks <= stats.pairs);
  index.forget(stream, BlockIndex::Forget::kBlocksAndEngine);
  require(index.stats().blocks == 0 && index.stats().pairs == 0);
  return 0;
}
