#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "rolter/balance/strategy.h"
#include "rolter/base/ids.h"
#include "rolter/base/time.h"

namespace rolter::balance {

struct SessionLimits {
  std::size_t max_sessions = 100'000;    // > 0; beyond: the one served longest ago goes
  Duration ttl = std::chrono::hours(1);  // since the last serve; zero = no limit
};

/// Which replica served a session last. Bounded in number and in time: every serve makes the
/// session the youngest and starts its time anew; looking changes nothing. Sessions are known by a
/// 64-bit hash of their id (two that collide would merely share a pin), so that 100,000 take about
/// 5 MB however long the ids. Any thread.
class SessionTable final : public Record::Undo {
 public:
  explicit SessionTable(SessionLimits limits);

  [[nodiscard]] std::optional<ReplicaSlot> find(std::string_view session, TimePoint now) const;

  /// The session is being served by `replica`. The ticket is for undo().
  std::uint64_t pin(std::string_view session, ReplicaSlot replica, TimePoint now);

  /// The serve came to nothing: back to the replica before it, unless the session has been pinned
  /// again since.
  void undo(std::uint64_t ticket) override;

  void set_limits(SessionLimits limits);
  [[nodiscard]] std::size_t size() const;

 private:
  using EntryId = std::uint32_t;
  static constexpr EntryId kNone = 0xffff'ffff;

  struct Entry {
    std::uint64_t key = 0;
    TimePoint served;
    ReplicaSlot replica{};
    std::optional<ReplicaSlot> before;  // what undo() goes back to
    std::uint32_t pins = 0;             // ever made in this cell: names the newest for undo()
    EntryId older = kNone;
    EntryId younger = kNone;  // of a free cell: the next free one
  };

  [[nodiscard]] bool has_expired(const Entry& entry, TimePoint now) const;
  [[nodiscard]] EntryId take_cell();
  void append(EntryId id);
  void unlink(EntryId id);
  void remove(EntryId id);

  mutable std::mutex mutex_;
  SessionLimits limits_;
  std::vector<Entry> entries_;
  absl::flat_hash_map<std::uint64_t, EntryId> by_key_;
  EntryId oldest_ = kNone;
  EntryId youngest_ = kNone;
  EntryId free_ = kNone;
};

}  // namespace rolter::balance
