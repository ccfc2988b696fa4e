#pragma once

#include "rolter/config/config.h"
#include "rolter/config/document.h"
#include "rolter/config/findings.h"

namespace rolter::config {

/// What only the whole file shows: names given twice, fallbacks that lead nowhere or in a circle,
/// event ports that overlap, listeners in each other's way, strategies without their source. The
/// places come from `document`, the file that `config` was read from.
void check_whole(const Config& config, const Value& document, Findings& findings);

}  // namespace rolter::config
