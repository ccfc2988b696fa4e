#include "rolter/admission/key_usage.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace rolter::admission {
namespace {

// Nobody knows when a running request ends; a second is what clients wait at the least.
constexpr Duration kWaitForAPlace = std::chrono::seconds{1};

Allowance allowance(std::uint64_t limit, std::uint64_t used, Duration reset) {
  return {limit, limit > used ? limit - used : 0, reset};
}

}  // namespace

std::optional<Refused> KeyUsage::refusal(const KeyLimits& limits, std::uint64_t tokens,
                                         TimePoint now) {
  if (limits.max_in_flight != 0 && in_flight_ >= limits.max_in_flight) {
    return Refused{Limit::kInFlight, limits.max_in_flight, 0, kWaitForAPlace};
  }
  if (const std::uint64_t limit = limits.requests_per_minute;
      limit != 0 && requests_.total(now) >= limit) {
    return Refused{Limit::kRequests, limit, 0, requests_.until_at_most(now, limit - 1)};
  }
  const std::uint64_t limit = limits.tokens_per_minute;
  if (limit == 0) {
    return std::nullopt;
  }
  if (tokens > limit) {
    return Refused{Limit::kTokens, limit, tokens, std::nullopt};
  }
  const std::uint64_t room = limit - tokens;
  if (reserved_ > room) {
    return Refused{Limit::kTokens, limit, tokens, kWaitForAPlace};
  }
  if (tokens_.total(now) + reserved_ > room) {
    return Refused{Limit::kTokens, limit, tokens, tokens_.until_at_most(now, room - reserved_)};
  }
  return std::nullopt;
}

std::expected<Admission, Refused> KeyUsage::admit(const KeyLimits& limits, std::uint64_t tokens,
                                                  TimePoint now) {
  if (!limits.any()) {
    return Admission();
  }
  const std::lock_guard lock(mutex_);
  if (auto refused = refusal(limits, tokens, now)) {
    return std::unexpected(*refused);
  }
  const std::uint64_t reserved = limits.tokens_per_minute == 0 ? 0 : tokens;
  ++in_flight_;
  reserved_ += reserved;
  return Admission(shared_from_this(), reserved, requests_.add(now, 1));
}

KeyStatus KeyUsage::status(const KeyLimits& limits, TimePoint now) {
  const std::lock_guard lock(mutex_);
  return {
      allowance(limits.requests_per_minute, requests_.total(now), requests_.until_at_most(now, 0)),
      allowance(limits.tokens_per_minute, tokens_.total(now) + reserved_,
                tokens_.until_at_most(now, 0))};
}

std::uint32_t KeyUsage::in_flight() const {
  const std::lock_guard lock(mutex_);
  return in_flight_;
}

std::string describe(const Refused& refused) {
  std::string text;
  switch (refused.limit) {
    case Limit::kRequests:
      text = fmt::format("the key may send {} requests a minute", refused.allowed);
      break;
    case Limit::kTokens:
      text = fmt::format("the key may use {} tokens a minute and this request may need {}",
                         refused.allowed, refused.asked);
      break;
    case Limit::kInFlight:
      text = fmt::format("the key may have {} requests running at once", refused.allowed);
      break;
  }
  if (!refused.retry_after) {
    return text + "; send a shorter prompt or a lower max_tokens";
  }
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(*refused.retry_after).count();
  return text + fmt::format("; retry in {} s", std::max<std::int64_t>(seconds, 1));
}

Admission::Admission(Admission&& other) noexcept
    : usage_(std::exchange(other.usage_, nullptr)),
      reserved_(std::exchange(other.reserved_, 0)),
      second_(other.second_) {}

Admission& Admission::operator=(Admission&& other) noexcept {
  if (this != &other) {
    end();
    usage_ = std::exchange(other.usage_, nullptr);
    reserved_ = std::exchange(other.reserved_, 0);
    second_ = other.second_;
  }
  return *this;
}

void Admission::settle(std::uint64_t tokens, TimePoint now) {
  if (usage_ != nullptr) {
    const std::lock_guard lock(usage_->mutex_);
    usage_->tokens_.add(now, tokens);
    usage_->reserved_ -= std::exchange(reserved_, 0);
  }
}

void Admission::cancel() {
  if (usage_ != nullptr) {
    {
      const std::lock_guard lock(usage_->mutex_);
      usage_->requests_.take_back(second_, 1);
    }
    end();
  }
}

void Admission::end() {
  if (usage_ != nullptr) {
    const std::lock_guard lock(usage_->mutex_);
    --usage_->in_flight_;
    usage_->reserved_ -= std::exchange(reserved_, 0);
  }
  usage_ = nullptr;
}

}  // namespace rolter::admission
