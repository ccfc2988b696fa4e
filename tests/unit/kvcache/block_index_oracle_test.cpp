// Random histories of several engines (copies, evictions, clears, restarts) over transports that
// lose, repeat and cut batches and replays, through the decoder, the stream's state machine and the
// index. The oracle is the engines' own pools. ROLTER_ORACLE_STEPS sets the number of steps.
#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "rolter/kvcache/block_index.h"
#include "rolter/kvcache/event_stream.h"
#include "rolter/kvcache/kv_event_decoder.h"
#include "tests/fakes/pool_model.h"
#include "tests/fakes/recorded_messages.h"
#include "tests/fakes/stored_blocks.h"
#include "tests/support/volume.h"

namespace rolter::kvcache {
namespace {

using fakes::PoolModel;
using std::chrono::milliseconds;

// Holes are rare: fewer steps would see none.
constexpr std::size_t kSteps = kSanitized ? 10'000 : 30'000;

std::size_t steps() {
  const char* const text = std::getenv("ROLTER_ORACLE_STEPS");
  return text == nullptr ? kSteps : std::strtoull(text, nullptr, 10);
}

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(random_() % bound); }
  bool one_in(std::uint32_t odds) { return below(odds) == 0; }

 private:
  std::mt19937_64 random_;
};

/// Prompts of one token per block that share prefixes.
std::vector<TokenId> random_prompt(Dice& dice) {
  std::vector<TokenId> prompt;
  const std::uint32_t family = dice.below(12);
  const std::uint32_t shared = 1 + dice.below(20);
  for (std::uint32_t i = 0; i < shared; ++i) {
    prompt.push_back(family * 100 + i);
  }
  const std::uint32_t own = dice.below(12);
  const std::uint32_t variant = dice.below(6);
  for (std::uint32_t i = 0; i < own; ++i) {
    prompt.push_back(10'000 + variant * 100 + i);
  }
  return prompt;
}

/// One engine, its publisher with a ring of batches, and the gateway's end of its stream.
class Line final : public EventStreamActions {
 public:
  Line(BlockIndex& index, std::uint32_t replica, Dice& dice)
      : index_(index),
        dice_(dice),
        id_(index.add_stream({.replica = ReplicaSlot{replica}}).value()),
        stream_({.can_replay = true}, *this) {
    start_engine();
  }

  void step(TimePoint now) {
    now_ = now;
    stream_.tick(now);
    serve_replay();
    const std::uint32_t action = dice_.below(1000);
    if (action < 4) {
      restart_engine();
    } else if (action < 10) {
      cut();
    } else if (action < 30) {
      pool_->clear();
    } else {
      pool_->run(random_prompt(dice_), dice_.one_in(6));
      publish();
    }
    if (!connected_ && dice_.one_in(outage_)) {
      connected_ = true;
      stream_.connected(now_);
    }
  }

  /// Compares with the engine's own state, where the stream can be expected to know it.
  void verify(const std::vector<TokenId>& prompt) {
    const std::uint32_t claimed = fakes::resident(index_, id_, prompt);
    if (!is_usable(stream_.state())) {
      ASSERT_EQ(claimed, 0U) << "credit from a stream that is " << to_string(stream_.state());
      return;
    }
    if (!in_sync_ || pool_->has_untold_events()) {
      return;
    }
    const std::uint32_t truth = pool_->resident(prompt);
    if (stream_.state() == StreamState::kLive) {
      ASSERT_EQ(claimed, truth);
      ++exact_checks;
    } else {
      ASSERT_LE(claimed, truth);
      ++partial_checks;
    }
  }

  void verify_size() const {
    if (in_sync_ && !pool_->has_untold_events() && stream_.state() == StreamState::kLive) {
      ASSERT_EQ(index_.stats(id_).blocks, pool_->distinct_blocks());
    }
  }

  [[nodiscard]] const EventStreamCounters& counters() const { return stream_.counters(); }

  std::uint64_t exact_checks = 0;
  std::uint64_t partial_checks = 0;
  std::uint64_t recoveries = 0;

  bool apply(Payload payload) override {
    auto batch = index_.begin(id_);
    return decoder_.decode(payload, batch).has_value();
  }
  void forget(Forget what) override {
    index_.forget(id_, what == Forget::kBlocks ? BlockIndex::Forget::kBlocks
                                               : BlockIndex::Forget::kBlocksAndEngine);
  }
  void ask_replay(std::uint64_t from) override {
    asked_ = from;
    answers_.clear();
    end_sent_ = false;
  }
  void state_changed(StreamState state) override {
    index_.set_usable(id_, is_usable(state));
    recoveries += is_usable(state) ? 1 : 0;
  }

 private:
  struct Batch {
    std::uint64_t sequence;
    std::string payload;
  };

  void start_engine() {
    const auto encoding = dice_.one_in(2) ? PoolModel::Encoding::kArray : PoolModel::Encoding::kMap;
    pool_ = std::make_unique<PoolModel>(40 + dice_.below(60), encoding, dice_.below(3) * 77 + 1);
    ring_.clear();
    next_sequence_ = 0;
  }

  void restart_engine() {
    start_engine();
    in_sync_ = false;
    asked_.reset();
    answers_.clear();
    if (dice_.one_in(2)) {
      cut();
    } else {
      unseen_restart_ = true;  // its first batch must arrive, or nobody could tell
    }
  }

  void cut() {
    if (connected_) {
      connected_ = false;
      in_sync_ = false;
      outage_ = dice_.one_in(4) ? 100 : 8;  // longer than the ring at times
      stream_.disconnected(now_);
      asked_.reset();
    }
  }

  void publish() {
    const auto events = pool_->take_events();
    if (events.empty()) {
      return;
    }
    const fakes::Packed clock = fakes::real(0x41da000000000000ULL + ++published_);
    Batch batch{next_sequence_++, fakes::array({clock, fakes::array(events), fakes::number(0)})};
    ring_.push_back(batch);
    if (ring_.size() > kRing) {
      ring_.pop_front();
    }
    const bool lost = !connected_ || (dice_.one_in(25) && !unseen_restart_);
    unseen_restart_ = false;
    if (lost) {
      in_sync_ = false;
      return;
    }
    for (std::uint32_t copy = dice_.one_in(20) ? 2 : 1; copy > 0; --copy) {
      stream_.live(batch.sequence, fakes::as_payload(batch.payload), now_);
    }
    in_sync_ = is_usable(stream_.state());
  }

  /// Some answers now and then; at times one is lost, or the end.
  void serve_replay() {
    if (!asked_ || !connected_ || dice_.one_in(4)) {
      return;
    }
    if (!end_sent_ && answers_.empty()) {
      for (const Batch& batch : ring_) {
        if (batch.sequence >= *asked_ && !dice_.one_in(150)) {
          answers_.push_back(batch);
        }
      }
      end_sent_ = true;
    }
    for (std::uint32_t left = 1 + dice_.below(40); left > 0 && !answers_.empty() && asked_;
         --left) {
      const Batch batch = answers_.front();
      answers_.pop_front();
      stream_.replayed(batch.sequence, fakes::as_payload(batch.payload), now_);
    }
    if (asked_ && end_sent_ && answers_.empty()) {
      asked_.reset();
      end_sent_ = false;
      if (!dice_.one_in(20)) {
        stream_.replay_ended(now_);
      }
    }
  }

  static constexpr std::size_t kRing = 60;

  BlockIndex& index_;
  Dice& dice_;
  StreamId id_;
  KvEventDecoder decoder_;
  EventStream stream_;
  std::unique_ptr<PoolModel> pool_;
  std::deque<Batch> ring_;
  std::uint64_t next_sequence_ = 0;
  std::uint64_t published_ = 0;
  TimePoint now_;
  bool connected_ = false;
  std::uint32_t outage_ = 8;  // steps on average
  bool unseen_restart_ = false;
  bool in_sync_ = false;  // the newest batch has been applied
  std::optional<std::uint64_t> asked_;
  std::deque<Batch> answers_;
  bool end_sent_ = false;
};

TEST(BlockIndexOracle, equals_the_engines_pools_after_every_recovery) {
  Dice dice(20260930);
  BlockIndex index;
  std::vector<std::unique_ptr<Line>> lines;
  for (std::uint32_t replica = 0; replica < 5; ++replica) {
    lines.push_back(std::make_unique<Line>(index, replica, dice));
  }
  TimePoint now{std::chrono::seconds(1)};
  for (std::size_t step = 0; step < steps(); ++step) {
    now += milliseconds(200);
    Line& line = *lines[dice.below(static_cast<std::uint32_t>(lines.size()))];
    line.step(now);
    const auto prompt = random_prompt(dice);
    for (const auto& other : lines) {
      ASSERT_NO_FATAL_FAILURE(other->verify(prompt)) << "step " << step;
    }
    if (step % 64 == 0) {
      ASSERT_NO_FATAL_FAILURE(line.verify_size()) << "step " << step;
    }
  }
  std::uint64_t exact = 0;
  std::uint64_t partial = 0;
  std::uint64_t recoveries = 0;
  EventStreamCounters seen;
  for (const auto& line : lines) {
    exact += line->exact_checks;
    partial += line->partial_checks;
    recoveries += line->recoveries;
    seen.duplicates += line->counters().duplicates;
    seen.gaps += line->counters().gaps;
    seen.holes += line->counters().holes;
    seen.restarts += line->counters().restarts;
    seen.failed_replays += line->counters().failed_replays;
    EXPECT_EQ(line->counters().unreadable_batches, 0U);
  }
  EXPECT_GT(seen.duplicates, steps() / 100);
  EXPECT_GT(seen.gaps, steps() / 100);
  EXPECT_GT(seen.holes, steps() / 10'000);
  EXPECT_GT(seen.restarts, steps() / 1000);
  EXPECT_GT(seen.failed_replays, steps() / 1000);
  EXPECT_GT(exact, steps() / 4);
  EXPECT_GT(partial, steps() / 100);
  EXPECT_GT(recoveries, steps() / 200);
  RecordProperty("exact_checks", std::to_string(exact));
  RecordProperty("partial_checks", std::to_string(partial));
  RecordProperty("recoveries", std::to_string(recoveries));
}

}  // namespace
}  // namespace rolter::kvcache
