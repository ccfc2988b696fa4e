#include "rolter/kvcache/kv_event_fields.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "rolter/kvcache/msgpack_values.h"

namespace rolter::kvcache {

bool KvEventFields::read(const char** event) {
  switch (mp_typeof(**event)) {
    case MP_MAP:
      return read_map(event);
    case MP_ARRAY:
      return read_array(event);
    default:
      return false;
  }
}

bool KvEventFields::read_map(const char** event) {
  // In the order in which vLLM writes them, so that the first comparison usually hits.
  static constexpr std::array<std::pair<std::string_view, Member>, 13> kKeys{{
      {"block_hashes", &KvEventFields::hashes},
      {"parent_block_hash", &KvEventFields::parent},
      {"token_ids", &KvEventFields::tokens},
      {"block_size", &KvEventFields::block_size},
      {"lora_id", &KvEventFields::lora_id},
      {"medium", &KvEventFields::medium},
      {"lora_name", &KvEventFields::lora_name},
      {"extra_keys", &KvEventFields::extra_keys},
      {"group_idx", &KvEventFields::group},
      {"kv_cache_spec_kind", &KvEventFields::kind},
      {"locality", &KvEventFields::locality},
      {"session_id", &KvEventFields::session},
      {"cache_salt", &KvEventFields::salt},
  }};
  std::size_t expected = 0;
  for (std::uint32_t left = mp_decode_map(event); left > 0; --left) {
    if (mp_typeof(**event) != MP_STR) {
      return false;
    }
    std::uint32_t length = 0;
    const char* text = mp_decode_str(event, &length);
    const std::string_view key(text, length);
    const char* value = *event;
    mp_next(event);
    if (key == "type") {
      type = as_text(value);
      continue;
    }
    for (std::size_t tried = 0; tried < kKeys.size(); ++tried) {
      const auto& [name, member] = kKeys[(expected + tried) % kKeys.size()];
      if (key == name) {
        this->*member = mp_typeof(*value) == MP_NIL ? nullptr : value;
        expected += tried + 1;
        break;
      }
    }
  }
  return !type.empty();
}

bool KvEventFields::read_array(const char** event) {
  static constexpr std::array<Member, 10> kStored{
      &KvEventFields::hashes,     &KvEventFields::parent,     &KvEventFields::tokens,
      &KvEventFields::block_size, &KvEventFields::lora_id,    &KvEventFields::medium,
      &KvEventFields::lora_name,  &KvEventFields::extra_keys, &KvEventFields::group,
      &KvEventFields::kind};
  static constexpr std::array<Member, 3> kRemoved{&KvEventFields::hashes, &KvEventFields::medium,
                                                  &KvEventFields::group};
  const std::uint32_t size = mp_decode_array(event);
  if (size == 0 || mp_typeof(**event) != MP_STR) {
    return false;
  }
  type = as_text(*event);
  mp_next(event);
  std::span<const Member> members;
  if (type == "BlockStored") {
    members = kStored;
  } else if (type == "BlockRemoved") {
    members = kRemoved;
  }
  for (std::size_t i = 0; i + 1 < size; ++i) {
    if (i < members.size()) {
      this->*members[i] = mp_typeof(**event) == MP_NIL ? nullptr : *event;
    }
    mp_next(event);
  }
  if (lora_name != nullptr && mp_typeof(*lora_name) == MP_MAP) {
    // SGLang's arrays carry a map of metadata here.
    KvEventFields metadata;
    metadata.read_map(&lora_name);
    salt = metadata.salt;
    session = metadata.session;
    lora_name = nullptr;
  }
  return true;
}

}  // namespace rolter::kvcache
