#pragma once

#include <functional>
#include <string>

#include "rolter/proxy/session.h"

namespace rolter::proxy {

/// /health, /ready, the list of models and metrics.
class LocalAnswers final : public LocalEndpoints {
 public:
  using Metrics = std::function<std::string()>;

  LocalAnswers(const SharedState& shared, Metrics metrics)
      : shared_(shared), metrics_(std::move(metrics)) {}

  [[nodiscard]] std::optional<std::expected<OwnAnswer, OwnError>> answer(
      const GatewayState& state, const LocalRequest& request) override;

 private:
  [[nodiscard]] OwnAnswer ready() const;

  const SharedState& shared_;
  Metrics metrics_;
};

}  // namespace rolter::proxy
