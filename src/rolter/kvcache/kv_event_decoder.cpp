#include "rolter/kvcache/kv_event_decoder.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include "rolter/base/ascii.h"
#include "rolter/kvcache/kv_event_fields.h"
#include "rolter/kvcache/msgpack_check.h"
#include "rolter/kvcache/msgpack_values.h"

namespace rolter::kvcache {
namespace {

/// Reads a hash and moves past it.
std::optional<EngineHash> next_hash(const char** value) {
  switch (mp_typeof(**value)) {
    case MP_UINT:
      return EngineHash{mp_decode_uint(value)};
    case MP_INT:
      return EngineHash{static_cast<std::uint64_t>(mp_decode_int(value))};
    case MP_BIN: {
      std::uint32_t length = 0;
      const char* bytes = mp_decode_bin(value, &length);
      std::uint64_t hash = 0;
      for (std::uint32_t i = length > 8 ? length - 8 : 0; i < length; ++i) {
        hash = (hash << 8) | static_cast<std::uint8_t>(bytes[i]);
      }
      return length > 0 ? std::optional(EngineHash{hash}) : std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

std::unexpected<Error> refuse(const char* why) {
  return fail(ErrorKind::kProtocol, why, ErrorSource::kUpstream);
}

GroupKind kind_of(std::string_view kind) {
  if (kind.empty()) {
    return GroupKind::kUnsaid;
  }
  const bool whole = kind.starts_with("full_attention") || kind.starts_with("mla_attention");
  return whole ? GroupKind::kFullAttention : GroupKind::kPartial;
}

/// One element of a block's extra_keys list, and moves past it.
ExtraDigest mix_element(ExtraDigest digest, const char** value) {
  const char* begin = *value;
  switch (mp_typeof(**value)) {
    case MP_STR: {
      std::uint32_t length = 0;
      const char* text = mp_decode_str(value, &length);
      return mix_extra(digest, ExtraKind::kText, {text, length});
    }
    case MP_UINT:
      return mix_extra(digest, ExtraKind::kNumber, mp_decode_uint(value));
    case MP_BIN: {
      std::uint32_t length = 0;
      const char* bytes = mp_decode_bin(value, &length);
      return mix_extra(digest, ExtraKind::kBytes, {bytes, length});
    }
    default:  // (image hash, offset) and the like, by its encoding, which is canonical
      mp_next(value);
      return mix_extra(digest, ExtraKind::kOther,
                       {begin, static_cast<std::size_t>(*value - begin)});
  }
}

}  // namespace

Result<BatchSummary> KvEventDecoder::decode(Payload payload, KvEventSink& sink) {
  if (!is_one_msgpack_object(payload)) {
    return refuse("event batch is not one MessagePack object");
  }
  const char* at = reinterpret_cast<const char*>(payload.data());
  if (mp_typeof(*at) != MP_ARRAY) {
    return refuse("event batch is not an array");
  }
  const std::uint32_t parts = mp_decode_array(&at);
  if (parts < 2) {
    return refuse("event batch lacks its events");
  }
  BatchSummary summary{.timestamp = as_seconds(at)};
  mp_next(&at);
  if (mp_typeof(*at) != MP_ARRAY) {
    return refuse("event batch's events are not an array");
  }
  removed_.clear();
  for (std::uint32_t left = mp_decode_array(&at); left > 0; --left) {
    deliver(&at, summary, sink);
  }
  flush_removed(sink);
  if (parts > 2) {
    summary.rank = as_u32(at);
  }
  return summary;
}

/// Delivers the event at `at` and moves past it.
void KvEventDecoder::deliver(const char** at, BatchSummary& summary, KvEventSink& sink) {
  const char* event = *at;
  KvEventFields fields;
  if (!fields.read(at)) {
    ++summary.malformed;
    mp_next(&event);
    *at = event;
    return;
  }
  bool good = true;
  if (fields.type == "BlockRemoved") {
    good = take_removed(fields, sink);
  } else if (fields.type == "BlockStored") {
    flush_removed(sink);
    good = deliver_stored(fields, sink);
  } else if (fields.type == "AllBlocksCleared") {
    flush_removed(sink);
    sink.cleared();
    ++summary.cleared;
  } else {
    ++summary.unknown;
    return;
  }
  ++(good ? summary.delivered : summary.malformed);
}

namespace {

EventScope scope_of(const KvEventFields& fields) {
  EventScope scope;
  const std::string_view tier = as_text(fields.medium);
  const bool gpu = fields.medium == nullptr || iequals(tier, "GPU");
  const bool remote = iequals(as_text(fields.locality), "REMOTE");
  scope.medium = gpu && !remote ? Medium::kGpu : Medium::kOther;
  scope.kind = kind_of(as_text(fields.kind));
  scope.group = as_u32(fields.group);
  return scope;
}

}  // namespace

bool KvEventDecoder::deliver_stored(const KvEventFields& fields, KvEventSink& sink) {
  BlockStored event;
  if (!read_hashes(fields.hashes) || !read_tokens(fields.tokens)) {
    return false;
  }
  if (fields.parent != nullptr) {
    const char* parent = fields.parent;
    event.parent = next_hash(&parent);
    if (!event.parent) {
      return false;
    }
  }
  if (fields.block_size != nullptr) {
    const auto block_size = as_u32(fields.block_size);
    if (!block_size) {
      return false;
    }
    event.block_size = *block_size;
  }
  event.adapter = as_text(fields.lora_name);
  ExtraDigest adapter = ExtraDigest::kNone;
  if (!event.adapter.empty()) {
    adapter = mix_extra(adapter, ExtraKind::kAdapter, event.adapter);
  } else if (const auto number = as_unsigned(fields.lora_id)) {
    adapter = mix_extra(adapter, ExtraKind::kAdapterNumber, *number);
  }
  read_extras(fields, adapter, !event.parent);
  event.hashes = hashes_;
  event.tokens = tokens_;
  event.extras = extras_;
  event.session_id = as_text(fields.session);
  event.scope = scope_of(fields);
  sink.stored(event);
  return true;
}

/// vLLM sends one event per evicted copy, hundreds in a row: what follows each other is delivered
/// together, so that the index can look ahead.
bool KvEventDecoder::take_removed(const KvEventFields& fields, KvEventSink& sink) {
  if (!read_hashes(fields.hashes)) {
    return false;
  }
  const EventScope scope = scope_of(fields);
  if (scope != removed_scope_) {
    flush_removed(sink);
    removed_scope_ = scope;
  }
  removed_.insert(removed_.end(), hashes_.begin(), hashes_.end());
  return true;
}

void KvEventDecoder::flush_removed(KvEventSink& sink) {
  if (!removed_.empty()) {
    sink.removed({.hashes = removed_, .scope = removed_scope_});
    removed_.clear();
  }
}

bool KvEventDecoder::read_hashes(const char* value) {
  hashes_.clear();
  if (value == nullptr || mp_typeof(*value) != MP_ARRAY) {
    return false;
  }
  for (std::uint32_t left = mp_decode_array(&value); left > 0; --left) {
    const auto hash = next_hash(&value);
    if (!hash) {
      return false;
    }
    hashes_.push_back(*hash);
  }
  return true;
}

bool KvEventDecoder::read_tokens(const char* value) {
  tokens_.clear();
  if (value == nullptr) {
    return true;  // offload events of vLLM before PR 43468 have none
  }
  if (mp_typeof(*value) != MP_ARRAY) {
    return false;
  }
  const std::uint32_t count = mp_decode_array(&value);
  tokens_.resize(count);
  for (TokenId& token : tokens_) {
    const auto id = next_unsigned(&value);
    if (!id || *id > std::numeric_limits<TokenId>::max()) {
      return false;
    }
    token = static_cast<TokenId>(*id);
  }
  return true;
}

void KvEventDecoder::read_extras(const KvEventFields& fields, ExtraDigest adapter, bool is_root) {
  extras_.clear();
  const char* lists = fields.extra_keys;
  const bool listed = lists != nullptr && mp_typeof(*lists) == MP_ARRAY;
  const bool salted = is_root && fields.salt != nullptr && mp_typeof(*fields.salt) == MP_STR;
  if (!listed && !salted && adapter == ExtraDigest::kNone) {
    return;
  }
  extras_.assign(hashes_.size(), adapter);
  const std::string_view adapter_name = as_text(fields.lora_name);
  const std::uint32_t count = listed ? mp_decode_array(&lists) : 0;
  bool any = adapter != ExtraDigest::kNone || salted;
  for (std::size_t block = 0; block < std::min<std::size_t>(count, extras_.size()); ++block) {
    if (mp_typeof(*lists) != MP_ARRAY) {
      mp_next(&lists);
      continue;
    }
    std::uint32_t left = mp_decode_array(&lists);
    any = any || left > 0;
    if (left > 0 && !adapter_name.empty() && as_text(lists) == adapter_name) {
      mp_next(&lists);  // the adapter, which is in the digest already
      --left;
    }
    for (; left > 0; --left) {
      extras_[block] = mix_element(extras_[block], &lists);
    }
  }
  if (salted && !extras_.empty()) {
    extras_[0] = mix_extra(extras_[0], ExtraKind::kText, as_text(fields.salt));
  }
  if (!any) {
    extras_.clear();
  }
}

}  // namespace rolter::kvcache
