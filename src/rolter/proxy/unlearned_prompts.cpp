#include "rolter/proxy/unlearned_prompts.h"

namespace rolter::proxy {

void UnlearnedPrompts::offer(UnlearnedPrompt prompt) {
  {
    const std::lock_guard lock(mutex_);
    const std::size_t size = prompt.body.size();
    if (!ring_ || prompts_.size() >= kMostPrompts || bytes_ + size > kMostBytes) {
      refused_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    bytes_ += size;
    prompts_.push_back(std::move(prompt));
  }
  ring_();
}

std::optional<UnlearnedPrompt> UnlearnedPrompts::take() {
  const std::lock_guard lock(mutex_);
  if (prompts_.empty()) {
    return std::nullopt;
  }
  std::optional<UnlearnedPrompt> prompt = std::move(prompts_.front());
  prompts_.pop_front();
  bytes_ -= prompt->body.size();
  return prompt;
}

}  // namespace rolter::proxy
