#include "rolter/kvcache/event_frames.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/fakes/recorded_messages.h"

namespace rolter::kvcache {
namespace {

std::vector<Frame> frames_of(const std::vector<std::string>& bytes) {
  std::vector<Frame> frames;
  for (const std::string& frame : bytes) {
    frames.push_back(fakes::as_payload(frame));
  }
  return frames;
}

const std::string kFive("\0\0\0\0\0\0\0\5", 8);
const std::string kEnd(8, '\xff');

// KV-05
TEST(EventFrames, live_messages_have_three_frames_and_a_whole_number) {
  const std::vector<std::string> good{"topic", kFive, "payload"};
  const auto message = parse_live_frames(frames_of(good));
  ASSERT_TRUE(message.has_value());
  EXPECT_EQ(message->sequence, 5U);
  EXPECT_EQ(message->topic.size(), 5U);
  EXPECT_EQ(message->payload.size(), 7U);
  for (const auto& bad :
       std::vector<std::vector<std::string>>{{},
                                             {kFive},
                                             {kFive, "payload"},
                                             {"", std::string("\0\0\5", 3), "payload"},
                                             {"", "", "payload"},
                                             {"", kFive, "payload", "more"},
                                             {"", kFive, "payload", "more", "and more"},
                                             {"", kEnd, "payload"}}) {
    EXPECT_FALSE(parse_live_frames(frames_of(bad)).has_value()) << bad.size();
  }
}

TEST(EventFrames, a_number_may_be_followed_by_more_in_its_frame) {
  const std::vector<std::string> longer{"", kFive + "0123456789abcdef", "payload"};
  EXPECT_EQ(parse_live_frames(frames_of(longer))->sequence, 5U);
}

// KV-03
TEST(EventFrames, replays_come_with_and_without_their_topic) {
  for (const auto& shape : std::vector<std::vector<std::string>>{
           {kFive, "payload"}, {"", kFive, "payload"}, {"", "topic", kFive, "payload"}}) {
    const auto replay = parse_replay_frames(frames_of(shape));
    ASSERT_TRUE(replay.has_value()) << shape.size();
    EXPECT_EQ(replay->message.sequence, 5U);
    EXPECT_EQ(replay->message.payload.size(), 7U);
    EXPECT_FALSE(replay->is_end);
  }
  EXPECT_TRUE(parse_replay_frames(frames_of({"", kEnd, ""}))->is_end);
  EXPECT_TRUE(parse_replay_frames(frames_of({"", "", kEnd, ""}))->is_end);
  EXPECT_FALSE(parse_replay_frames(frames_of({"", "x", "payload"})).has_value());
  EXPECT_FALSE(parse_replay_frames(frames_of({kFive})).has_value());
  EXPECT_FALSE(parse_replay_frames(frames_of({"", "", "", kFive, "p"})).has_value());
}

TEST(EventFrames, reads_the_replays_that_engines_sent) {
  for (const char* name :
       {"vllm-0.32/replay/dealer_from_0.jsonl", "vllm-0.32/replay/dealer_past_newest.jsonl",
        "vllm-0.32/replay/topic_kv-events_dealer_from_0.jsonl"}) {
    const auto lines = fakes::load_recorded_messages(name);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const auto replay = parse_replay_frames(frames_of(lines[i].frames));
      ASSERT_TRUE(replay.has_value()) << name;
      EXPECT_EQ(replay->is_end, i + 1 == lines.size());
      if (!replay->is_end) {
        EXPECT_EQ(replay->message.sequence, i);
      }
    }
  }
}

}  // namespace
}  // namespace rolter::kvcache
