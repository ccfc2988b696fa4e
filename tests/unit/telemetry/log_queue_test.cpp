#include "rolter/telemetry/log_queue.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

namespace rolter::telemetry {
namespace {

std::string lines(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += "line\n";
  }
  return text;
}

bool push(LogQueue& queue, std::string batch) {
  return queue.push(batch);
}

/// A pipe whose ends close by themselves.
struct Pipe {
  Pipe() { EXPECT_EQ(::pipe(ends.data()), 0); }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close_end(std::size_t end) {
    if (ends.at(end) >= 0) {
      ::close(ends.at(end));
      ends.at(end) = -1;
    }
  }
  std::string read_all() {
    std::string text;
    std::array<char, 4096> buffer{};
    for (ssize_t n = 0; (n = ::read(ends[0], buffer.data(), buffer.size())) > 0;) {
      text.append(buffer.data(), static_cast<std::size_t>(n));
    }
    return text;
  }
  std::array<int, 2> ends{-1, -1};
};

TEST(LogQueue, brings_batches_in_order) {
  LogQueue queue{1000};
  EXPECT_TRUE(push(queue, "a\n"));
  EXPECT_TRUE(push(queue, "b\n"));
  std::vector<std::string> batches;
  EXPECT_TRUE(queue.take(batches));
  EXPECT_EQ(batches, (std::vector<std::string>{"a\n", "b\n"}));
}

TEST(LogQueue, drops_and_counts_what_a_stuck_writer_leaves_no_room_for) {
  LogQueue queue{100};
  EXPECT_TRUE(push(queue, lines(15)));
  std::string batch = lines(10);
  EXPECT_FALSE(queue.push(batch));
  EXPECT_TRUE(batch.empty()) << "the loop goes on with an empty buffer";
  EXPECT_EQ(queue.dropped_lines(), 10U);
  std::vector<std::string> batches;
  EXPECT_TRUE(queue.take(batches));
  EXPECT_TRUE(push(queue, lines(10))) << "there is room again";
}

TEST(LogQueue, buffers_go_round) {
  LogQueue queue{1 << 20};
  std::string batch = lines(1000);
  const char* data = batch.data();
  queue.push(batch);
  std::vector<std::string> batches;
  EXPECT_TRUE(queue.take(batches));
  push(queue, "wake\n");
  EXPECT_TRUE(queue.take(batches));  // gives the first buffer back
  batch = lines(1);
  queue.push(batch);
  EXPECT_EQ(batch.data(), data);
  EXPECT_TRUE(batch.empty());
}

TEST(LogQueue, after_close_brings_what_is_left_and_then_nothing) {
  LogQueue queue{1000};
  push(queue, "last\n");
  queue.close();
  EXPECT_FALSE(push(queue, "late\n"));
  EXPECT_EQ(queue.dropped_lines(), 1U);
  std::vector<std::string> batches;
  EXPECT_TRUE(queue.take(batches));
  EXPECT_EQ(batches, std::vector<std::string>{"last\n"});
  EXPECT_FALSE(queue.take(batches));
}

TEST(LogQueue, lines_of_many_threads_are_written_whole_and_once) {
  constexpr int kEach = 2000;
  Pipe pipe;
  LogQueue queue{1 << 22};
  std::string text;
  {
    std::jthread reader{[&] { text = pipe.read_all(); }};
    {
      std::jthread writer{[&] { write_log(queue, pipe.ends[1]); }};
      {
        std::vector<std::jthread> loops;
        for (int t = 0; t < 3; ++t) {
          loops.emplace_back([&queue, t] {
            std::string batch;
            for (int i = 0; i < kEach; ++i) {
              batch.append(20, static_cast<char>('a' + t));
              batch += '\n';
              if (i % 7 == 0) {
                queue.push(batch);
              }
            }
            queue.push(batch);
          });
        }
      }
      queue.close();
    }
    pipe.close_end(1);
  }
  EXPECT_EQ(queue.dropped_lines(), 0U);
  std::array<int, 3> seen{};
  std::size_t start = 0;
  for (std::size_t end = 0; (end = text.find('\n', start)) != std::string::npos; start = end + 1) {
    const std::string line = text.substr(start, end - start);
    ASSERT_EQ(line, std::string(20, line[0]));
    ++seen.at(static_cast<std::size_t>(line[0] - 'a'));
  }
  EXPECT_EQ(seen, (std::array<int, 3>{kEach, kEach, kEach}));
}

TEST(LogQueue, a_log_nobody_reads_any_more_does_not_end_the_writer) {
  std::signal(SIGPIPE, SIG_IGN);
  Pipe pipe;
  pipe.close_end(0);
  LogQueue queue{1000};
  std::jthread writer{[&] { write_log(queue, pipe.ends[1]); }};
  push(queue, "lost\n");
  push(queue, "lost too\n");
  queue.close();
  writer.join();
}

}  // namespace
}  // namespace rolter::telemetry
