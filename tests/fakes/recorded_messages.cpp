#include "tests/fakes/recorded_messages.h"
#include "tests/support/test_data.h"

#include <simdjson.h>

#include <fstream>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace rolter::fakes {
namespace {

int digit(char c) {
  return c <= '9' ? c - '0' : c - 'a' + 10;
}

RecordedLine parse_line(simdjson::dom::element line) {
  RecordedLine recorded;
  simdjson::dom::array frames;
  if (line["frames"].get(frames) == simdjson::SUCCESS) {
    for (const auto frame : frames) {
      recorded.frames.push_back(from_hex(std::string_view(frame)));
    }
  }
  std::string_view text;
  if (line["note"].get(text) == simdjson::SUCCESS || line["mon"].get(text) == simdjson::SUCCESS) {
    recorded.note = text;
  }
  if (line["label"].get(text) == simdjson::SUCCESS) {
    recorded.label = text;
  }
  simdjson::dom::array numbers;
  if (line["status_prompt_cached_completion"].get(numbers) == simdjson::SUCCESS ||
      line["r"].get(numbers) == simdjson::SUCCESS) {
    for (const auto number : numbers) {
      std::int64_t value = -1;  // several requests at once, or no answer
      recorded.response.push_back(number.get(value) == simdjson::SUCCESS ? static_cast<int>(value)
                                                                         : -1);
    }
  }
  return recorded;
}

}  // namespace

std::string from_hex(std::string_view hex) {
  std::string bytes(hex.size() / 2, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<char>(digit(hex[2 * i]) * 16 + digit(hex[2 * i + 1]));
  }
  return bytes;
}

std::vector<RecordedLine> load_recorded_lines(const std::string& name) {
  std::ifstream file(rolter::test_data() / name);
  if (!file) {
    throw std::runtime_error("no recording " + name);
  }
  simdjson::dom::parser parser;
  std::vector<RecordedLine> lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back(parse_line(parser.parse(line)));
  }
  return lines;
}

std::vector<RecordedLine> load_recorded_messages(const std::string& name) {
  auto lines = load_recorded_lines(name);
  std::erase_if(lines, [](const RecordedLine& line) { return line.frames.empty(); });
  return lines;
}

}  // namespace rolter::fakes
