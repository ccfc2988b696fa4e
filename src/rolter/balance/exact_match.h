#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "rolter/base/ids.h"
#include "rolter/kvcache/block_index.h"
#include "rolter/kvcache/chain_key.h"
#include "rolter/kvcache/chain_tree.h"
#include "rolter/kvcache/prompt_marks.h"

namespace rolter::balance {

/// What RouteResidency works with, one per thread: the prompt's chain, and what was found of it in
/// the streams of the eligible targets. It stays until the thread's next prompt, so that record()
/// need not look again when the request goes out at once, as most do.
struct ExactMatch {
  using View = kvcache::BlockIndex::StreamView;
  static constexpr std::uint32_t kUnknown = std::numeric_limits<std::uint32_t>::max();

  /// The streams whose prompt chain is in `chain`: those of one kind.
  struct Kind {
    std::string_view model;
    std::uint32_t block_size = 0;
    bool knows_adapter = false;

    [[nodiscard]] bool has(const View& view, std::string_view name) const {
      return view.block_size == block_size && view.knows_adapter == knows_adapter && name == model;
    }
  };

  std::uint64_t number = first_number();  // of the prompt it was last used for
  bool any_pending = false;               // some of what was found is not there yet
  std::vector<kvcache::BlockIndex::ReplicaQuery> queries;
  std::vector<View> views;           // a replica may have any number of ranks
  std::vector<std::uint32_t> found;  // leading blocks, as views; kUnknown = nothing is known
  std::vector<std::size_t> tokens;   // of the prompt, as views

  Kind kind;
  std::vector<kvcache::ChainKey> chain;
  std::vector<kvcache::PromptMark> marks;
  kvcache::ChainTree::Place place;  // of the marks

  std::vector<std::size_t> group;          // positions in views
  std::vector<kvcache::StreamId> streams;  // as group
  std::vector<std::uint32_t> blocks;       // as group

  static ExactMatch& of_thread() {
    thread_local ExactMatch match;
    return match;
  }

  /// What it has belongs to an earlier prompt.
  void begin() {
    ++number;
    any_pending = false;
    kind = {};
    place = {};
  }
  void forget_chain() {
    begin();
    marks.clear();
    chain.clear();
  }

  /// Those of one replica, in order of their ranks.
  [[nodiscard]] std::span<const View> views_of(ReplicaSlot replica, std::string_view model) const {
    const auto query =
        std::ranges::find_if(queries, [&](const kvcache::BlockIndex::ReplicaQuery& one) {
          return one.replica == replica && one.model == model;
        });
    const auto position = static_cast<std::size_t>(query - queries.begin());
    return std::ranges::equal_range(views, position, {}, &View::position);
  }
  /// The stream of a rank, or the only one of an engine without ranks; null when there is none.
  [[nodiscard]] static const View* view_of(std::span<const View> streams,
                                           std::optional<std::uint32_t> rank) {
    const auto view = std::ranges::find_if(
        streams, [&](const View& stream) { return streams.size() == 1 || stream.rank == rank; });
    return view == streams.end() ? nullptr : &*view;
  }
  /// `view` is one of `views`, as match() left them.
  [[nodiscard]] std::uint32_t found_in(const View& view) const {
    return found[static_cast<std::size_t>(&view - views.data())];
  }

 private:
  /// No number is used twice, by no thread.
  static std::uint64_t first_number() {
    static std::atomic<std::uint64_t> threads{0};
    return (threads.fetch_add(1, std::memory_order_relaxed) + 1) << 40;
  }
};

}  // namespace rolter::balance
