#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace rolter::feeds {

/// Tells what is wrong with a poll when it begins, changes or ends, and not at every round. One
/// thread.
class PollProblems {
 public:
  /// `problem` is "" when all is well again.
  using Tell = std::function<void(std::string_view provider, const std::string& problem)>;

  explicit PollProblems(Tell tell) : tell_(std::move(tell)) {}

  void report(const std::string& provider, std::string problem) {
    std::string& last = last_[provider];
    if (last != problem) {
      last = std::move(problem);
      tell_(provider, last);
    }
  }

  /// Forgets providers that are gone.
  void keep_only(const std::function<bool(const std::string& provider)>& stays) {
    std::erase_if(last_, [&](const auto& entry) { return !stays(entry.first); });
  }

 private:
  Tell tell_;
  std::map<std::string, std::string> last_;
};

}  // namespace rolter::feeds
