#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "rolter/base/ids.h"

namespace rolter::cluster {

/// The live state of one provider, shared by every target that names it and kept across reloads for
/// as long as the provider's name and address stay. Any thread.
class Replica {
 public:
  Replica(std::string name, ReplicaSlot slot) : name_(std::move(name)), slot_(slot) {}
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] ReplicaSlot slot() const { return slot_; }

  /// Requests of ours from the pick to the end of the body.
  [[nodiscard]] std::uint32_t in_flight() const {
    return in_flight_.load(std::memory_order_relaxed);
  }

 private:
  friend class Lease;

  std::string name_;
  ReplicaSlot slot_;
  // A line of its own: every request of every loop writes it.
  alignas(64) std::atomic<std::uint32_t> in_flight_{0};
};

/// One request's share of a replica's load, and of its target's cap. Move-only: whatever way the
/// request ends (abort, retry, timeout, exception, shutdown), the counts go back exactly once.
class Lease {
 public:
  Lease() = default;

  /// Takes one unit of `replica`, and one of `target_in_flight` when that stays <= cap (0 = no
  /// cap). By compare-and-swap, so that several loops never pass a cap together. Not taken: holds()
  /// is false. Both must outlive the lease.
  [[nodiscard]] static Lease acquire(Replica& replica, std::atomic<std::uint32_t>& target_in_flight,
                                     std::uint32_t cap) {
    std::uint32_t current = target_in_flight.load(std::memory_order_relaxed);
    do {
      if (cap != 0 && current >= cap) {
        return {};
      }
    } while (
        !target_in_flight.compare_exchange_weak(current, current + 1, std::memory_order_relaxed));
    replica.in_flight_.fetch_add(1, std::memory_order_relaxed);
    return Lease(replica, target_in_flight);
  }

  Lease(Lease&& other) noexcept
      : replica_(std::exchange(other.replica_, nullptr)),
        target_in_flight_(std::exchange(other.target_in_flight_, nullptr)) {}
  Lease& operator=(Lease&& other) noexcept {
    if (this != &other) {
      release();
      replica_ = std::exchange(other.replica_, nullptr);
      target_in_flight_ = std::exchange(other.target_in_flight_, nullptr);
    }
    return *this;
  }
  ~Lease() { release(); }

  [[nodiscard]] bool holds() const { return replica_ != nullptr; }

  void release() {
    if (replica_ != nullptr) {
      replica_->in_flight_.fetch_sub(1, std::memory_order_relaxed);
      target_in_flight_->fetch_sub(1, std::memory_order_relaxed);
      replica_ = nullptr;
    }
  }

 private:
  Lease(Replica& replica, std::atomic<std::uint32_t>& target_in_flight)
      : replica_(&replica), target_in_flight_(&target_in_flight) {}

  Replica* replica_ = nullptr;
  std::atomic<std::uint32_t>* target_in_flight_ = nullptr;
};

}  // namespace rolter::cluster
