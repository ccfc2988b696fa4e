#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "rolter/balance/session_table.h"
#include "rolter/base/ids.h"
#include "rolter/base/time.h"

namespace rolter::proxy {

/// Which replica holds an answer of /v1/responses: an engine keeps those it has given, and no other
/// knows of them. Bounded: the answer named longest ago is forgotten first; 100,000 take 5 MB. Any
/// thread.
class StoredAnswers {
 public:
  static constexpr std::size_t kMost = 100'000;

  void remember(std::string_view id, ReplicaSlot replica, TimePoint now) {
    table_.pin(id, replica, now);
  }
  [[nodiscard]] std::optional<ReplicaSlot> find(std::string_view id, TimePoint now) const {
    return table_.find(id, now);
  }

 private:
  // The same thing as a session: an id that was served by a replica.
  balance::SessionTable table_{{.max_sessions = kMost, .ttl = Duration::zero()}};
};

/// The id of an answer of /v1/responses, from the beginning of its body as it came, a stream's
/// first event or a document; "" when it is not there.
[[nodiscard]] std::string_view stored_answer_id(std::string_view body);

/// The id in "/v1/responses/{id}" and whatever follows it; "" for any other path.
[[nodiscard]] std::string_view stored_answer_of_path(std::string_view path);

}  // namespace rolter::proxy
