// What a replica, or something else that listens there, answers to a metrics scrape.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "rolter/cluster/engine_gauges.h"
#include "rolter/cluster/exposition_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  rolter::cluster::ExpositionReader reader{text};
  while (const auto sample = reader.next()) {
    (void)sample->label("tp_rank");
    if (sample->name.empty()) {
      std::abort();
    }
  }
  const rolter::cluster::EngineGauges gauges = rolter::cluster::parse_engine_gauges(text);
  if (gauges.depth().value_or(0) < 0 || gauges.kv_usage.value_or(0) > 1) {
    std::abort();
  }
  return 0;
}
