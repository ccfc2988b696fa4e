#pragma once

#include <string>

#include "rolter/proxy/session.h"

namespace rolter::proxy {

/// /health, /ready, the list of models and metrics.
class LocalAnswers final : public LocalEndpoints {
 public:
  /// `metrics` makes the exposition.
  LocalAnswers(const SharedState& shared, MakeBody metrics)
      : shared_(shared), metrics_(std::move(metrics)) {}

  [[nodiscard]] std::optional<std::expected<LocalAnswer, OwnError>> answer(
      const GatewayState& state, const LocalRequest& request) override;

 private:
  [[nodiscard]] OwnAnswer ready() const;

  const SharedState& shared_;
  MakeBody metrics_;
};

}  // namespace rolter::proxy
