// The prefix tree against a naive byte trie per replica: a million random operations in all, on
// alphabets so small that prompts collide, branch, end inside each other and merge all the time.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "rolter/base/random.h"
#include "tests/support/volume.h"
#include "tests/unit/kvcache/prefix_tree_model.h"

namespace rolter::kvcache {
namespace {

constexpr std::size_t kOperations = volume(1'000'000);

struct Setting {
  std::string_view name;
  std::vector<std::string_view> alphabet;
  PrefixTreeLimits limits;
  std::size_t max_edge;
  std::size_t max_length;
};

std::vector<Setting> settings() {
  using namespace std::string_view_literals;
  const std::vector<std::string_view> binary = {"\0"sv, "\xff"sv};
  const std::vector<std::string_view> utf8 = {"a", "é", "è", "漢", "字", "🙂", "🙃"};
  return {
      {"binary, no ceiling reached", binary, {1'000, 1'000'000}, 65'536, 24},
      {"binary, node ceiling", binary, {40, 1'000'000}, 65'536, 24},
      {"binary, byte ceiling", binary, {1'000, 9'000}, 65'536, 24},
      {"binary, both, short edges", binary, {60, 12'000}, 3, 24},
      {"binary, hardly any node", binary, {2, 1'000'000}, 5, 12},
      {"binary, hardly any byte", binary, {0, 600}, 7, 200},
      {"utf-8, node ceiling", utf8, {30, 0}, 65'536, 40},
      {"utf-8, byte ceiling", utf8, {0, 15'000}, 65'536, 60},
      {"utf-8, both, short edges", utf8, {50, 14'000}, 16, 90},
      {"utf-8, long texts", utf8, {100, 12'000}, 65'536, 300},
  };
}

/// Random operations; texts are made from earlier ones often enough to meet them again.
class Walk {
 public:
  Walk(const Setting& setting, std::uint64_t seed)
      : setting_(setting), model_(setting.limits, setting.max_edge), rng_(seed) {}

  [[nodiscard]] const std::string& fault() const { return model_.fault(); }

  void step() {
    const std::size_t dice = uniform_index(rng_, 1'000);
    if (dice < 350) {
      remember(model_.insert(uniform_index(rng_, 2), text(), replica()));
    } else if (dice < 700) {
      Pick pick{.root = uniform_index(rng_, 2), .text = text(), .trace = {}};
      pick.trace = model_.match(pick.root, pick.text);
      picks_.push_back(std::move(pick));
    } else if (dice < 850) {
      record_one();
    } else if (dice < 995) {
      undo_one();
    } else if (dice < 998) {
      model_.remove_replica(replica());
    } else {
      model_.set_limits(other_limits());
    }
  }

 private:
  struct Pick {
    std::uint64_t root;
    std::string text;
    PrefixTree::Trace trace;
  };

  std::uint32_t replica() {
    return static_cast<std::uint32_t>(uniform_index(rng_, NaivePrefixIndex::kReplicas));
  }

  std::string text() {
    std::string made;
    if (!texts_.empty() && uniform_index(rng_, 4) != 0) {
      made = texts_[uniform_index(rng_, texts_.size())];
      made.resize(uniform_index(rng_, made.size() + 1));
    }
    const std::size_t length = uniform_index(rng_, setting_.max_length + 1);
    while (made.size() < length) {
      made += setting_.alphabet[uniform_index(rng_, setting_.alphabet.size())];
    }
    if (texts_.size() < 64) {
      texts_.push_back(made);
    } else {
      texts_[uniform_index(rng_, texts_.size())] = made;
    }
    return made;
  }

  void remember(PrefixTreeModel::Insertion insertion) {
    constexpr std::size_t kKept = 32;
    if (insertions_.size() < kKept) {
      insertions_.push_back(insertion);
    } else {
      insertions_[uniform_index(rng_, kKept)] = insertion;
    }
  }

  /// Inserts with the trace of a match that may be many operations old.
  void record_one() {
    if (!picks_.empty()) {
      const Pick pick = std::move(picks_.front());
      picks_.pop_front();
      remember(model_.insert(pick.root, pick.text, replica(), pick.trace));
    }
    while (picks_.size() > 16) {
      picks_.pop_front();
    }
  }

  void undo_one() {
    if (!insertions_.empty()) {
      std::swap(insertions_[uniform_index(rng_, insertions_.size())], insertions_.back());
      model_.undo(insertions_.back());
      insertions_.pop_back();
    }
  }

  /// A little less or as much as the setting says.
  PrefixTreeLimits other_limits() {
    PrefixTreeLimits limits = setting_.limits;
    limits.max_nodes_per_replica -= uniform_index(rng_, limits.max_nodes_per_replica / 2 + 1);
    limits.max_index_bytes -= uniform_index(rng_, limits.max_index_bytes / 2 + 1);
    return limits;
  }

  const Setting& setting_;
  PrefixTreeModel model_;
  Rng rng_;
  std::vector<std::string> texts_;
  std::deque<Pick> picks_;
  std::vector<PrefixTreeModel::Insertion> insertions_;
};

TEST(PrefixTreeOracle, a_million_random_operations_agree_with_a_naive_byte_trie) {
  const std::vector<Setting> all = settings();
  std::uint64_t seed = 1;
  for (const Setting& setting : all) {
    SCOPED_TRACE(setting.name);
    Walk walk(setting, seed++);
    for (std::size_t i = 0; i < kOperations / all.size(); ++i) {
      walk.step();
      ASSERT_EQ(walk.fault(), "") << "at operation " << i;
    }
  }
}

}  // namespace
}  // namespace rolter::kvcache
