#include "rolter/balance/session_table.h"

#include "rolter/balance/hash.h"

namespace rolter::balance {

SessionTable::SessionTable(SessionLimits limits) : limits_(limits) {}

std::optional<ReplicaSlot> SessionTable::find(std::string_view session, TimePoint now) const {
  const std::lock_guard lock(mutex_);
  const auto found = by_key_.find(hash_of(session));
  if (found == by_key_.end() || has_expired(entries_[found->second], now)) {
    return std::nullopt;
  }
  return entries_[found->second].replica;
}

std::uint64_t SessionTable::pin(std::string_view session, ReplicaSlot replica, TimePoint now) {
  const std::uint64_t key = hash_of(session);
  const std::lock_guard lock(mutex_);
  if (oldest_ != kNone && has_expired(entries_[oldest_], now)) {
    remove(oldest_);  // at least as many go as come
  }
  auto found = by_key_.find(key);
  if (found == by_key_.end()) {
    while (by_key_.size() >= limits_.max_sessions) {
      remove(oldest_);
    }
    found = by_key_.emplace(key, take_cell()).first;
    Entry& entry = entries_[found->second];
    entry.key = key;
    entry.before.reset();
  } else {
    Entry& entry = entries_[found->second];
    entry.before = has_expired(entry, now) ? std::nullopt : std::optional(entry.replica);
    unlink(found->second);
  }
  const EntryId id = found->second;
  Entry& entry = entries_[id];
  entry.replica = replica;
  entry.served = now;
  ++entry.pins;
  append(id);
  return (std::uint64_t{entry.pins} << 32) | id;
}

void SessionTable::undo(std::uint64_t ticket) {
  const auto id = static_cast<EntryId>(ticket & 0xffff'ffff);
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[id];
  if (entry.pins != ticket >> 32) {
    return;
  }
  ++entry.pins;
  if (entry.before.has_value()) {
    entry.replica = *entry.before;
  } else {
    remove(id);
  }
}

void SessionTable::set_limits(SessionLimits limits) {
  const std::lock_guard lock(mutex_);
  limits_ = limits;
  while (by_key_.size() > limits_.max_sessions) {
    remove(oldest_);
  }
}

std::size_t SessionTable::size() const {
  const std::lock_guard lock(mutex_);
  return by_key_.size();
}

bool SessionTable::has_expired(const Entry& entry, TimePoint now) const {
  return limits_.ttl > Duration::zero() && now - entry.served >= limits_.ttl;
}

SessionTable::EntryId SessionTable::take_cell() {
  if (free_ == kNone) {
    entries_.emplace_back();
    return static_cast<EntryId>(entries_.size() - 1);
  }
  const EntryId id = free_;
  free_ = entries_[id].younger;
  return id;
}

void SessionTable::append(EntryId id) {
  entries_[id].older = youngest_;
  entries_[id].younger = kNone;
  (youngest_ == kNone ? oldest_ : entries_[youngest_].younger) = id;
  youngest_ = id;
}

void SessionTable::unlink(EntryId id) {
  const Entry& entry = entries_[id];
  (entry.older == kNone ? oldest_ : entries_[entry.older].younger) = entry.younger;
  (entry.younger == kNone ? youngest_ : entries_[entry.younger].older) = entry.older;
}

void SessionTable::remove(EntryId id) {
  unlink(id);
  Entry& entry = entries_[id];
  by_key_.erase(entry.key);
  ++entry.pins;  // tickets of the old tenant mean nothing to the new one
  entry.younger = free_;
  free_ = id;
}

}  // namespace rolter::balance
