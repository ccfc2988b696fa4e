#include "tests/integration/simulator/recorded_answers.h"
#include "tests/support/test_data.h"

#include <simdjson.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace rolter::simulator {
namespace {

namespace dom = simdjson::dom;

void add_shape(const dom::element& value, const std::string& path,
               std::vector<std::string>& shape) {
  if (value.is_object()) {
    shape.push_back(path + " object");
    for (const auto member : dom::object(value)) {
      add_shape(member.value, path + "." + std::string(member.key), shape);
    }
  } else if (value.is_array()) {
    shape.push_back(path + " array");
    std::vector<std::string> elements;
    for (const dom::element element : dom::array(value)) {
      add_shape(element, path + "[]", elements);
    }
    for (const std::string& line : elements) {
      if (std::ranges::find(shape, line) == shape.end()) {
        shape.push_back(line);
      }
    }
  } else if (value.is_string()) {
    shape.push_back(path + " string");
  } else if (value.is_number()) {
    shape.push_back(path + " number");
  } else {
    shape.push_back(path + (value.is_bool() ? " bool" : " null"));
  }
}

}  // namespace

RecordedAnswer load_answer(const std::string& name) {
  std::ifstream file(rolter::test_data() / "vllm-0.32/http" / (name + ".txt"));
  if (!file) {
    throw std::runtime_error("missing test data: " + name);
  }
  RecordedAnswer answer;
  std::string line;
  while (std::getline(file, line)) {
    if (!line.starts_with("< ")) {
      continue;
    }
    answer.status = std::stoi(line.substr(2));
    break;
  }
  while (std::getline(file, line) && line.starts_with("< ")) {
    answer.head += line.substr(2) + "\n";
  }
  std::ostringstream rest;
  rest << file.rdbuf();
  answer.body = rest.str();
  return answer;
}

std::vector<std::string> shape_of(const std::string& json) {
  dom::parser parser;
  dom::element root;
  std::vector<std::string> shape;
  if (parser.parse(json).get(root) != simdjson::SUCCESS) {
    return {"not JSON: " + json};
  }
  add_shape(root, "", shape);
  return shape;
}

std::vector<std::vector<std::string>> shape_of_events(const std::string& body) {
  std::vector<std::vector<std::string>> shapes;
  std::istringstream lines(body);
  std::string name;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("event: ")) {
      name = line.substr(7);
    }
    if (!line.starts_with("data: ")) {
      continue;
    }
    std::vector<std::string> shape = {name};
    if (line == "data: [DONE]") {
      shape.push_back("[DONE]");
    } else {
      const auto members = shape_of(line.substr(6));
      shape.insert(shape.end(), members.begin(), members.end());
    }
    if (shapes.empty() || shapes.back() != shape) {
      shapes.push_back(shape);
    }
  }
  return shapes;
}

}  // namespace rolter::simulator
