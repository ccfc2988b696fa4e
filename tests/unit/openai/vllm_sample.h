#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/support/test_data.h"

namespace rolter::openai {

/// One exchange with a real vLLM, as in tests/data/vllm-0.32.
struct VllmSample {
  std::string path;
  std::string request_body;
  std::string answer_body;
};

inline VllmSample read_vllm_sample(const std::string& name) {
  const auto file_name = rolter::test_data() / "vllm-0.32" / (name + ".txt");
  std::ifstream file(file_name, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t first_line_end = text.find('\n');
  const std::size_t head = text.find("\n\n< ");
  const std::size_t answer = text.find("\n\n", head + 2);
  if (head == std::string::npos || answer == std::string::npos) {
    ADD_FAILURE() << "not an exchange: " << file_name;
    return {};
  }
  const std::string post = "> POST ";
  return {.path = text.substr(post.size(), first_line_end - post.size()),
          .request_body = text.substr(first_line_end + 3, head - first_line_end - 3),
          .answer_body = text.substr(answer + 2)};
}

}  // namespace rolter::openai
