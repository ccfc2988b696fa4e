#include "rolter/kvcache/flat_table.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <unordered_map>
#include <vector>

namespace rolter::kvcache {
namespace {

struct Slot {
  std::uint32_t key = 0;
  std::uint32_t value = 0;  // 0 = vacant
  std::uint32_t spread_bits = 0;

  [[nodiscard]] bool vacant() const { return value == 0; }
  [[nodiscard]] std::uint32_t spread() const { return spread_bits; }
};

template <FlatTableShape kShape>
class Model {
 public:
  explicit Model(std::uint32_t spread_mask) : mask_(spread_mask) {}

  std::size_t find(std::uint32_t key) const {
    return table.find(spread(key), [key](const Slot& slot) { return slot.key == key; });
  }
  void put(std::uint32_t key, std::uint32_t value) {
    if (const std::size_t at = find(key); at != table.kNone) {
      table[at].value = value;
    } else {
      table.reserve_for(1);
      const std::size_t vacant =
          table.probe(spread(key), [key](const Slot& slot) { return slot.key == key; });
      ASSERT_TRUE(table[vacant].vacant());
      table.insert_at(vacant, {.key = key, .value = value, .spread_bits = spread(key)});
    }
    expected[key] = value;
  }
  void drop(std::uint32_t key) {
    const std::size_t at = find(key);
    ASSERT_EQ(at != table.kNone, expected.erase(key) == 1);
    if (at != table.kNone) {
      table.erase(at);
    }
  }
  void verify(std::uint32_t keys) const {
    ASSERT_EQ(table.size(), expected.size());
    for (std::uint32_t key = 0; key < keys; ++key) {
      const std::size_t at = find(key);
      const auto known = expected.find(key);
      ASSERT_EQ(at != table.kNone, known != expected.end()) << key;
      if (at != table.kNone) {
        ASSERT_EQ(table[at].value, known->second);
      }
    }
  }

  FlatTable<Slot, kShape> table;
  std::unordered_map<std::uint32_t, std::uint32_t> expected;

 private:
  std::uint32_t spread(std::uint32_t key) const { return (key * 2654435761U) | mask_; }

  std::uint32_t mask_;
};

template <typename Model>
void run_random_steps(Model& model, std::uint32_t keys, int steps) {
  std::mt19937 random(7);
  for (int step = 0; step < steps; ++step) {
    const auto key = static_cast<std::uint32_t>(random() % keys);
    if (random() % 5 < 3) {
      model.put(key, static_cast<std::uint32_t>(random() | 1));
    } else {
      model.drop(key);
    }
  }
  model.verify(keys);
}

constexpr FlatTableShape kSingle{};
constexpr FlatTableShape kGrouped{.group = 4};

TEST(FlatTable, equals_a_map_after_random_inserts_and_erases) {
  Model<kSingle> single(0);
  Model<kGrouped> grouped(0);
  for (int round = 0; round < 10; ++round) {
    run_random_steps(single, 3000, 5000);
    run_random_steps(grouped, 3000, 5000);
  }
}

TEST(FlatTable, equals_a_map_when_all_keys_crowd_at_its_end) {
  Model<kSingle> single(0xfffffff0U);  // clusters that wrap around
  Model<kGrouped> grouped(0xfffffff0U);
  for (int round = 0; round < 10; ++round) {
    run_random_steps(single, 200, 1000);
    run_random_steps(grouped, 200, 1000);
  }
}

TEST(FlatTable, stays_between_60_and_75_percent_full_while_it_grows) {
  Model<kGrouped> model(0);
  for (std::uint32_t key = 0; key < 100'000; ++key) {
    model.put(key, 1);
    if (key > 1000) {
      const double bytes_per_slot = static_cast<double>(model.table.bytes()) / (key + 1.0);
      ASSERT_GE(bytes_per_slot, sizeof(Slot) / 0.76);
      ASSERT_LE(bytes_per_slot, sizeof(Slot) / 0.59);
    }
  }
}

TEST(FlatTable, finds_nothing_while_it_is_empty) {
  const Model<kSingle> model(0);
  EXPECT_EQ(model.find(1), model.table.kNone);
}

}  // namespace
}  // namespace rolter::kvcache
