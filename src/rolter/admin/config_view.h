#pragma once

#include "rolter/config/config.h"
#include "rolter/openai/json_writer.h"

namespace rolter::admin {

/// Writes the configuration in force as an object, under the names and in the shape of the file,
/// defaults included; durations in seconds where the key ends in `_secs`. A secret is "***", or ""
/// when it is not set.
void write_config(const config::Config& config, openai::JsonWriter& json);

}  // namespace rolter::admin
