#pragma once

#include "rolter/openai/json_writer.h"

namespace rolter::simulator {

using openai::JsonWriter;

}  // namespace rolter::simulator
