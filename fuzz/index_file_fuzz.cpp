// Index files. The first byte says whether the rest is a whole file, or the payloads of its
// records, each after a byte for its tag and two for its length. What can be loaded can be saved
// and loaded again, and is the same then.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rolter/kvcache/index_records.h"
#include "rolter/kvcache/saved_trees.h"

namespace {

using namespace rolter;
using namespace rolter::kvcache;

void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

std::unique_ptr<PrefixTrees> empty_trees() {
  auto trees = std::make_unique<PrefixTrees>();
  const std::array<PrefixTrees::Demand, 2> demands{
      PrefixTrees::Demand{.model = "m", .limits = {}},
      PrefixTrees::Demand{.model = "n",
                          .limits = {.max_nodes_per_replica = 8, .max_index_bytes = 4'096}}};
  trees->apply(demands);
  return trees;
}

const std::vector<SavedReplica>& replicas() {
  static const std::vector<SavedReplica> all{
      {.identity = "a", .slot = ReplicaSlot{3}, .started_at = 7.0},
      {.identity = "b", .slot = ReplicaSlot{0}, .started_at = 0.0}};
  return all;
}

std::string saved(const PrefixTrees& trees) {
  std::string file = index_file_head();
  std::uint64_t count = 0;
  require(save_trees(trees, replicas(), [&](RecordTag tag, std::string_view payload) {
    file += index_record(tag, payload);
    ++count;
    return true;
  }));
  return file + index_file_end(count);
}

/// False when there is no such file.
bool load(std::string_view file, const PrefixTrees& trees) {
  const auto records = read_index_file(file);
  return records && load_trees(*records, trees, replicas(), [](const SavedReplica&, double) {});
}

std::string file_of_payloads(std::string_view bytes) {
  constexpr std::array kTags{RecordTag::kTree, RecordTag::kPrompts, RecordTag{0x12345678}};
  std::string file = index_file_head();
  std::uint64_t count = 0;
  while (bytes.size() >= 3) {
    const auto at = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
    const RecordTag tag = kTags[at(0) % kTags.size()];
    const std::size_t size = std::min<std::size_t>(at(1) | at(2) << 8, bytes.size() - 3);
    file += index_record(tag, bytes.substr(3, size));
    bytes.remove_prefix(3 + size);
    ++count;
  }
  return file + index_file_end(count);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) {
    return 0;
  }
  const std::string_view rest(reinterpret_cast<const char*>(data + 1), size - 1);
  const auto first = empty_trees();
  if (!load(data[0] % 2 == 0 ? std::string(rest) : file_of_payloads(rest), *first)) {
    return 0;
  }
  const std::string once = saved(*first);
  const auto second = empty_trees();
  require(load(once, *second));
  require(saved(*second) == once);
  return 0;
}
