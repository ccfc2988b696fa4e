#pragma once

#include <string>

#include "rolter/simulator/engine_service.h"

namespace rolter::simulator {

/// GET /metrics: the families of vLLM 0.32 that a router may look at, one series per rank.
[[nodiscard]] std::string metrics_page(EngineService& service);

}  // namespace rolter::simulator
