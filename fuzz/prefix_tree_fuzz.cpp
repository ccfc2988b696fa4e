// The prefix tree against its oracle: the input decides limits, edge length and every operation.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/unit/kvcache/prefix_tree_model.h"

namespace rolter::kvcache {
namespace {

/// Reads the input byte by byte; past the end everything is 0.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  [[nodiscard]] bool is_empty() const { return at_ == size_; }
  std::size_t below(std::size_t bound) { return next() % bound; }

  /// The last text cut somewhere and continued with four different letters, two bits each.
  std::string text() {
    std::string text = last_.substr(0, below(last_.size() + 1));
    for (std::size_t letters = below(8); letters > 0; --letters) {
      std::size_t bits = next();
      for (int i = 0; i < 4; ++i, bits >>= 2) {
        text += "ab\x00\xff"[bits & 3];
      }
    }
    last_ = text;
    return text;
  }

 private:
  std::uint8_t next() { return is_empty() ? 0 : data_[at_++]; }

  const std::uint8_t* data_;
  std::size_t size_;
  std::size_t at_ = 0;
  std::string last_;
};

PrefixTreeLimits limits_from(Input& input) {
  return {.max_nodes_per_replica = input.below(40), .max_index_bytes = input.below(64) * 256};
}

struct Pick {
  std::uint64_t root = 0;
  std::string text;
  PrefixTree::Trace trace;
};

void step(Input& input, PrefixTreeModel& model, Pick& pick,
          std::vector<PrefixTreeModel::Insertion>& insertions) {
  const std::size_t operation = input.below(16);
  if (operation < 6) {
    const auto replica = static_cast<std::uint32_t>(input.below(NaivePrefixIndex::kReplicas));
    insertions.push_back(model.insert(input.below(2), input.text(), replica));
  } else if (operation < 10) {
    pick = {.root = input.below(2), .text = input.text(), .trace = {}};
    pick.trace = model.match(pick.root, pick.text);
  } else if (operation < 12) {  // records the last pick, whatever has happened since
    const auto replica = static_cast<std::uint32_t>(input.below(NaivePrefixIndex::kReplicas));
    insertions.push_back(model.insert(pick.root, pick.text, replica, pick.trace));
  } else if (operation < 14) {
    if (!insertions.empty()) {
      const std::size_t chosen = input.below(insertions.size());
      model.undo(insertions[chosen]);
      insertions.erase(insertions.begin() + static_cast<std::ptrdiff_t>(chosen));
    }
  } else if (operation == 14) {
    model.remove_replica(static_cast<std::uint32_t>(input.below(NaivePrefixIndex::kReplicas)));
  } else {
    model.set_limits(limits_from(input));
  }
}

}  // namespace
}  // namespace rolter::kvcache

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rolter::kvcache;
  if (size > 4'096) {  // the oracle is slow on purpose
    return 0;
  }
  Input input(data, size);
  const PrefixTreeLimits limits = limits_from(input);
  PrefixTreeModel model(limits, 1 + input.below(32));
  Pick pick;
  std::vector<PrefixTreeModel::Insertion> insertions;
  while (!input.is_empty() && model.fault().empty()) {
    step(input, model, pick, insertions);
  }
  if (!model.fault().empty()) {
    std::fprintf(stderr, "%s\n", model.fault().c_str());
    std::abort();
  }
  return 0;
}
