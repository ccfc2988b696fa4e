#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rolter/kvcache/kv_event.h"

namespace rolter::fakes {

/// Keeps the events of a batch beyond the decoder's call.
class CollectedEvents final : public kvcache::KvEventSink {
 public:
  enum class Kind : std::uint8_t { kStored, kRemoved, kCleared };
  struct Event {
    Kind kind = Kind::kCleared;
    std::vector<std::uint64_t> hashes;
    std::optional<std::uint64_t> parent;
    std::vector<TokenId> tokens;
    std::uint32_t block_size = 0;
    std::vector<kvcache::ExtraDigest> extras;
    std::string adapter;
    std::string session_id;
    kvcache::EventScope scope;
  };

  void stored(const kvcache::BlockStored& event) override {
    events.push_back({.kind = Kind::kStored,
                      .hashes = plain(event.hashes),
                      .parent = event.parent
                                    ? std::optional(static_cast<std::uint64_t>(*event.parent))
                                    : std::nullopt,
                      .tokens = {event.tokens.begin(), event.tokens.end()},
                      .block_size = event.block_size,
                      .extras = {event.extras.begin(), event.extras.end()},
                      .adapter = std::string(event.adapter),
                      .session_id = std::string(event.session_id),
                      .scope = event.scope});
  }
  void removed(const kvcache::BlockRemoved& event) override {
    Event& copy = events.emplace_back();
    copy.kind = Kind::kRemoved;
    copy.hashes = plain(event.hashes);
    copy.scope = event.scope;
  }
  void cleared() override { events.emplace_back(); }

  std::vector<Event> events;

 private:
  static std::vector<std::uint64_t> plain(std::span<const kvcache::EngineHash> hashes) {
    std::vector<std::uint64_t> out;
    for (const kvcache::EngineHash hash : hashes) {
      out.push_back(static_cast<std::uint64_t>(hash));
    }
    return out;
  }
};

}  // namespace rolter::fakes
