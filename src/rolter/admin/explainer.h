#pragma once

#include <expected>
#include <optional>
#include <string_view>
#include <vector>

#include "rolter/admin/explanation.h"
#include "rolter/admin/reply.h"
#include "rolter/base/random.h"
#include "rolter/cluster/candidate.h"
#include "rolter/cluster/cluster_view.h"
#include "rolter/openai/request_view.h"
#include "rolter/proxy/gateway_state.h"

namespace rolter::admin {

/// A request that is not to be sent.
struct ExplainInput {
  std::string_view path;  // of the API, "/v1/chat/completions"; "": told from the body's keys
  std::string_view body;  // JSON, followed by openai::RequestParser::kPadding readable bytes
  std::string_view session;
  TimePoint now;
  std::string_view token_ids = {};  // as x-rolter-vllm-token-ids has them; "" = none
};

/// Says where a request would go in a given state, and why: the same eligible targets and the same
/// pick as on the data path. Forwards and remembers nothing (a rotation strategy moves on by one).
/// One thread.
class Explainer {
 public:
  explicit Explainer(Rng seeded) : rng_(seeded) {}

  [[nodiscard]] std::expected<Explanation, Reply> explain(const proxy::GatewayState& state,
                                                          const ExplainInput& in);

 private:
  struct Case;
  Explanation explain_route(const Case& of);
  static std::optional<QueueView> queue_before(const Case& of, cluster::Availability availability);
  void pick(const Case& of, Explanation& out);
  void look_at_the_others(const Case& of, Explanation& out);

  openai::RequestParser parser_;
  std::vector<TokenId> token_ids_;  // of the request
  Rng rng_;
  std::vector<cluster::Candidate> candidates_;
};

}  // namespace rolter::admin
