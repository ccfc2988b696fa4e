#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "rolter/balance/choices.h"
#include "rolter/balance/strategy.h"
#include "rolter/kvcache/prefix_tree.h"

namespace rolter::balance {

/// The prefix trees of one route: usually one, but its targets may serve models of different names,
/// and the tree belongs to the upstream model. Any thread, as the trees are.
class RoutePrefixes {
 public:
  /// `trees` has one entry per target of the route; several may be the same. Shared with other
  /// routes and with the registry, since a reload replaces routes while requests are under way.
  explicit RoutePrefixes(std::vector<std::shared_ptr<kvcache::PrefixTree>> trees);

  /// The longest match among the eligible targets and who has it (nobody when `bytes` is 0).
  struct Best {
    std::size_t bytes = 0;
    Choices holders;
    kvcache::PrefixTree::Trace trace = {};
  };
  [[nodiscard]] Best match_best(const PickInput& in) const;

  /// Leading bytes of the prompt held for each eligible target.
  struct All {
    PerCandidate<std::size_t> bytes;
    kvcache::PrefixTree::Trace trace = {};
  };
  [[nodiscard]] All match(const PickInput& in) const;

  /// For one of them.
  [[nodiscard]] std::size_t match_one(const PickInput& in, const Candidate& candidate) const;

  /// How warm each of the choices is: the distinct bytes held for it. The others' values are left.
  void held_bytes(const PickInput& in, const Choices& choices,
                  PerCandidate<std::size_t>& bytes) const;

  /// Remembers the prompt, and, when the decision expected something by it, learns from what the
  /// engine reports to have found.
  [[nodiscard]] Record record(const PickInput& in, const Candidate& chosen);

 private:
  class Tree final : public Record::Undo {
   public:
    explicit Tree(std::shared_ptr<kvcache::PrefixTree> tree) : tree_(std::move(tree)) {}
    [[nodiscard]] kvcache::PrefixTree& operator*() const { return *tree_; }
    void undo(std::uint64_t ticket) override { tree_->undo(kvcache::PrefixTree::Ticket{ticket}); }
    void replied(std::uint64_t ticket, std::string_view text) override {
      tree_->extend(kvcache::PrefixTree::Ticket{ticket}, text);
    }

    [[nodiscard]] Record::Undo& lesson() { return lesson_; }

   private:
    /// Compares what was expected, which its ticket says, with what the engine has found.
    class Lesson final : public Record::Undo {
     public:
      explicit Lesson(kvcache::PrefixTree& tree) : tree_(tree) {}
      void undo(std::uint64_t /*ticket*/) override {}
      void reported(std::uint64_t ticket, const PromptUsage& usage) override;

     private:
      [[nodiscard]] double slack_tokens(std::uint64_t found);

      kvcache::PrefixTree& tree_;
      std::atomic<std::uint64_t> divisor_{0};  // of all that was found so far; 0 = nothing was
    };

    std::shared_ptr<kvcache::PrefixTree> tree_;
    Lesson lesson_{*tree_};
  };

  /// The eligible targets that one tree knows: positions in PickInput::eligible and replicas.
  struct Members {
    PerCandidate<std::uint32_t> positions;
    PerCandidate<ReplicaSlot> replicas;
  };
  [[nodiscard]] Members members_of(const Tree& tree, const PickInput& in) const;

  std::vector<std::unique_ptr<Tree>> distinct_;
  std::vector<Tree*> by_target_;
};

}  // namespace rolter::balance
