#include "rolter/base/snapshot_cell.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace rolter {
namespace {

TEST(SnapshotCell, reader_sees_the_newest_value) {
  SnapshotCell<int> cell(std::make_shared<const int>(1));
  SnapshotReader<int> reader(cell);
  EXPECT_EQ(*reader.get(), 1);
  cell.publish(std::make_shared<const int>(2));
  EXPECT_EQ(*reader.get(), 2);
}

TEST(SnapshotCell, a_held_value_survives_publication) {
  SnapshotCell<int> cell(std::make_shared<const int>(1));
  SnapshotReader<int> reader(cell);
  const std::shared_ptr<const int> held = reader.get();
  cell.publish(std::make_shared<const int>(2));
  EXPECT_EQ(*reader.get(), 2);
  EXPECT_EQ(*held, 1);
}

TEST(SnapshotCell, readers_never_see_half_of_a_value) {
  struct Pair {
    int left;
    int right;
  };
  SnapshotCell<Pair> cell(std::make_shared<const Pair>(Pair{0, 0}));
  std::vector<std::jthread> readers;
  for (int r = 0; r < 3; ++r) {
    readers.emplace_back([&cell] {
      SnapshotReader<Pair> reader(cell);
      int last = 0;
      while (last < 2000) {
        const auto& pair = reader.get();
        ASSERT_EQ(pair->left, pair->right);
        ASSERT_GE(pair->left, last);
        last = pair->left;
      }
    });
  }
  for (int i = 1; i <= 2000; ++i) {
    cell.publish(std::make_shared<const Pair>(Pair{i, i}));
  }
}

}  // namespace
}  // namespace rolter
