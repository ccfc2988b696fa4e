#include "tests/support/test_data.h"

namespace rolter {

std::filesystem::path test_data() {
  return ROLTER_TEST_DATA;
}

}  // namespace rolter
