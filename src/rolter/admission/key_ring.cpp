#include "rolter/admission/key_ring.h"

#include <xxhash.h>

#include <algorithm>
#include <map>
#include <utility>

#include "rolter/base/secret_text.h"

namespace rolter::admission {

struct Caller::Key {
  std::uint64_t hash = 0;
  config::VirtualKey config;
  KeyLimits limits;
  std::shared_ptr<KeyUsage> usage;
};

namespace {

std::unexpected<Error> unauthenticated(std::string message) {
  return fail(ErrorKind::kUnauthenticated, std::move(message), ErrorSource::kClient);
}

}  // namespace

std::string_view Caller::name() const {
  return key_ == nullptr ? std::string_view() : std::string_view(key_->config.name);
}

Result<void> Caller::may_use(std::string_view asked, std::string_view route_model) const {
  if (key_ == nullptr || key_->config.models.empty()) {
    return {};
  }
  const auto is_named = [&](const std::string& model) {
    return model == asked || model == route_model;
  };
  if (std::ranges::any_of(key_->config.models, is_named)) {
    return {};
  }
  return fail(ErrorKind::kDenied, "this API key may not use the model; ask for one it may use",
              ErrorSource::kClient);
}

std::expected<Admission, Refused> Caller::admit(std::uint64_t tokens, TimePoint now) const {
  if (key_ == nullptr) {
    return Admission();
  }
  return key_->usage->admit(key_->limits, tokens, now);
}

std::optional<KeyStatus> Caller::status(TimePoint now) const {
  if (key_ == nullptr || !key_->limits.any()) {
    return std::nullopt;
  }
  return key_->usage->status(key_->limits, now);
}

KeyRing::KeyRing(const config::Config& config, std::uint64_t seed, const KeyRing* previous)
    : mode_(config.auth), seed_(seed) {
  std::map<std::string_view, std::shared_ptr<KeyUsage>> known;
  if (previous != nullptr) {
    for (const Caller::Key& key : previous->keys_) {
      known.emplace(key.config.name, key.usage);
    }
  }
  for (const config::VirtualKey& key : config.virtual_keys) {
    std::shared_ptr<KeyUsage>& usage = known[key.name];
    if (usage == nullptr) {
      usage = std::make_shared<KeyUsage>();
    }
    const KeyLimits limits{key.requests_per_minute, key.tokens_per_minute, key.max_in_flight};
    keys_.push_back({hash(key.key.reveal()), key, limits, usage});
  }
  std::ranges::sort(keys_, {}, &Caller::Key::hash);
}

KeyRing::~KeyRing() = default;

std::uint64_t KeyRing::hash(std::string_view secret) const {
  return XXH3_64bits_withSeed(secret.data(), secret.size(), seed_);
}

const Caller::Key* KeyRing::find(std::string_view secret) const {
  const auto candidates = std::ranges::equal_range(keys_, hash(secret), {}, &Caller::Key::hash);
  for (const Caller::Key& key : candidates) {
    if (equals_secret(secret, key.config.key.reveal())) {
      return &key;
    }
  }
  return nullptr;
}

Result<Caller> KeyRing::authenticate(const PresentedKey& presented, WallTime now) const {
  if (mode_ == config::AuthMode::kOpen) {
    return Caller(nullptr);
  }
  const Result<std::string_view> secret = presented.get();
  if (!secret) {
    return std::unexpected(secret.error());
  }
  const Caller::Key* key = find(*secret);
  if (key == nullptr) {
    return unauthenticated("the API key is not valid; check it, or ask for a new one");
  }
  if (key->config.disabled) {
    return unauthenticated("the API key is disabled; ask for a new one");
  }
  if (key->config.expires_at && now >= *key->config.expires_at) {
    return unauthenticated("the API key has expired; ask for a new one");
  }
  return Caller(key);
}

}  // namespace rolter::admission
