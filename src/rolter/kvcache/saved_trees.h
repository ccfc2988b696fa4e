#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "rolter/base/error.h"
#include "rolter/base/ids.h"
#include "rolter/kvcache/index_records.h"
#include "rolter/kvcache/prefix_trees.h"

namespace rolter::kvcache {

/// A replica as an index file knows it: slots are dealt out anew at every start.
struct SavedReplica {
  std::string identity;  // provider and address
  ReplicaSlot slot{};
  double started_at = 0.0;  // of its process, unix seconds; 0 = not known
};

/// Takes a record; false: it could not be kept, no more are wanted.
using TakeRecord = std::function<bool(RecordTag tag, std::string_view payload)>;

/// Hands out all prefix trees as records, each replica's prompts in the order of their ages and
/// with what has been learned of it. Of these replicas only. Any thread; the trees stay in use.
bool save_trees(const PrefixTrees& trees, std::span<const SavedReplica> replicas,
                const TakeRecord& take);

struct LoadedTrees {
  std::size_t prompts = 0;
  std::size_t strange = 0;  // prompts of replicas or models that are no longer there
};

/// Puts the trees of these records back, for the replicas of the same identity. `known` is told
/// since when a replica has run, as far as the file knows. An error, before anything is changed,
/// when the records contradict themselves.
[[nodiscard]] Result<LoadedTrees> load_trees(
    std::span<const IndexRecord> records, const PrefixTrees& trees,
    std::span<const SavedReplica> replicas,
    const std::function<void(const SavedReplica& replica, double started_at)>& known);

}  // namespace rolter::kvcache
