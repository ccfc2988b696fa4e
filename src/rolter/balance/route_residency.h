#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rolter/balance/choices.h"
#include "rolter/balance/strategy.h"
#include "rolter/base/random.h"
#include "rolter/kvcache/block_index.h"
#include "rolter/kvcache/prompt_marks.h"
#include "rolter/kvcache/residency.h"

namespace rolter::balance {

/// How much of a prompt one target's engine holds: that of its best data-parallel rank.
struct Held {
  std::uint32_t blocks = 0;                // leading ones of the prompt
  std::uint32_t full_blocks = 0;           // the prompt has; 0 = nothing is known of the engine
  std::uint32_t block_size = 0;            // tokens
  std::optional<std::uint32_t> rank = {};  // absent when the engine has one only
  std::size_t prompt_tokens = 0;           // an estimate where its ids are not known
  Source source = Source::kNone;

  [[nodiscard]] bool is_known() const { return full_blocks > 0; }
  [[nodiscard]] double share() const {
    return full_blocks == 0 ? 0.0 : static_cast<double>(blocks) / full_blocks;
  }
  /// What the engine will take from its cache: it computes at least the last token (vLLM 0.32).
  [[nodiscard]] std::size_t cached_tokens() const;
};

/// Whether a route's requests are tagged, so that the chains of their text are learned.
enum class Learning : std::uint8_t { kOff, kOn };

/// The exact residency of prompts as one route needs it. Any thread.
class RouteResidency final : private Record::Undo {
 public:
  /// `models` are the names by which the route's targets know the model: where one is a LoRA
  /// adapter's, its blocks are not the base model's. `route` names whose predictions are trusted
  /// together: what one route's requests are made of may not be what another's are.
  RouteResidency(std::shared_ptr<kvcache::Residency> residency, std::vector<std::string> models,
                 Learning learning = Learning::kOff, std::string_view route = {});

  /// For each eligible target. Nothing is known of a target without a usable stream of events or
  /// with an unknown block size, and of all targets when the prompt fills no block, or its ids are
  /// not known and no chain has been learned that its text begins with. `rng` decides between equal
  /// ranks. Allocates only while this thread's scratch memory grows. Returns a number for
  /// Decision::exact_match.
  std::uint64_t match(const PickInput& in, Rng& rng, PerCandidate<Held>& held) const;

  /// The prompt goes to the chosen target's rank; if `optimistic`, what is known of its chain
  /// counts as held there from now on. The record has the session under which it is to go.
  [[nodiscard]] Record record(const PickInput& in, const Candidate& chosen, bool optimistic);

  [[nodiscard]] bool learns() const { return learning_ == Learning::kOn; }

 private:
  /// What a request teaches.
  class Lessons final : public Record::Undo {
   public:
    explicit Lessons(std::shared_ptr<kvcache::Residency> residency)
        : residency_(std::move(residency)) {}
    void undo(std::uint64_t ticket) override { ended(ticket, TimePoint{}); }
    void reported(std::uint64_t ticket, const PromptUsage& usage) override;
    void replied(std::uint64_t ticket, std::string_view text) override;
    void ended(std::uint64_t ticket, TimePoint now) override;

   private:
    std::shared_ptr<kvcache::Residency> residency_;
  };

  void find_alike(std::size_t first, const PickInput& in) const;
  [[nodiscard]] bool can_match(const kvcache::BlockIndex::StreamView& view,
                               const PickInput& in) const;
  [[nodiscard]] std::uint64_t trust_id(std::string_view model) const {
    return kvcache::marks_seed(route_id_, model, 0);
  }
  std::size_t find_chain(const kvcache::BlockIndex::StreamView& view, const PickInput& in,
                         std::string_view model) const;
  void begin_lesson(const PickInput& in, const Candidate& chosen,
                    const kvcache::BlockIndex::StreamView* view, Record& record);
  void undo(std::uint64_t ticket) override;
  void ended(std::uint64_t ticket, TimePoint now) override;

  std::shared_ptr<kvcache::Residency> residency_;
  std::vector<std::string> models_;
  std::uint64_t route_id_;
  Learning learning_;
  Lessons lessons_;
};

}  // namespace rolter::balance
