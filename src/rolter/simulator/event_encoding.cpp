#include "rolter/simulator/event_encoding.h"

#include <msgpuck.h>

#include <optional>
#include <string_view>
#include <variant>

namespace rolter::simulator {
namespace {

/// Appends MessagePack values to a string.
class Packer {
 public:
  Packer(std::string& out, HashEncoding hashes) : out_(out), hashes_(hashes) {}

  void array(std::size_t size) {
    put([size](char* at) { return mp_encode_array(at, static_cast<std::uint32_t>(size)); });
  }
  void map(std::size_t size) {
    put([size](char* at) { return mp_encode_map(at, static_cast<std::uint32_t>(size)); });
  }
  void number(std::uint64_t value) {
    put([value](char* at) { return mp_encode_uint(at, value); });
  }
  void number(double value) {
    put([value](char* at) { return mp_encode_double(at, value); });
  }
  void nil() { put(mp_encode_nil); }
  void text(std::string_view value) {
    put([value](char* at) { return mp_encode_strl(at, static_cast<std::uint32_t>(value.size())); });
    out_.append(value);
  }
  void hash(BlockHash hash) {
    const auto value = static_cast<std::uint64_t>(hash);
    if (hashes_ == HashEncoding::kInteger) {
      number(value);
      return;
    }
    constexpr std::uint32_t kDigestBytes = 32;
    put([](char* at) { return mp_encode_binl(at, kDigestBytes); });
    // The leading 24 bytes of the digest only need to be a function of the rest.
    for (const std::uint64_t word : {3U, 2U, 1U, 0U}) {
      const std::uint64_t part = value ^ (word * 0x9e3779b97f4a7c15U);
      for (int shift = 56; shift >= 0; shift -= 8) {
        out_.push_back(static_cast<char>((part >> shift) & 0xFFU));
      }
    }
  }

 private:
  template <typename Write>
  void put(Write write) {
    constexpr std::size_t kLongestHeader = 9;
    char buffer[kLongestHeader];
    out_.append(buffer, static_cast<std::size_t>(write(buffer) - buffer));
  }

  std::string& out_;
  HashEncoding hashes_;
};

constexpr std::string_view kMedium = "GPU";  // also what the CPU backend says
constexpr std::uint64_t kGroup = 0;
constexpr std::string_view kSpecKind = "full_attention";

void pack_extra_keys(Packer& pack, const BlockStored& event) {
  pack.array(event.extra_keys.size());
  for (const ExtraKeys& keys : event.extra_keys) {
    if (keys.empty()) {
      pack.nil();
      continue;
    }
    pack.array(keys.size());
    for (const std::string& key : keys) {
      pack.text(key);
    }
  }
}

/// Writes one event, as a map with keys or as an array without them.
class EventWriter {
 public:
  EventWriter(Packer& pack, EventEncoding encoding)
      : pack_(pack), named_(encoding == EventEncoding::kMap) {}

  void operator()(const BlockStored& event) {
    const bool has_session = named_ && !event.session_id.empty();
    begin("BlockStored", named_ ? 11U + (has_session ? 1U : 0U) : 10U);
    hashes(event.hashes);
    key("parent_block_hash");
    if (event.parent) {
      pack_.hash(*event.parent);
    } else {
      pack_.nil();
    }
    key("token_ids");
    pack_.array(event.tokens.size());
    for (const TokenId token : event.tokens) {
      pack_.number(std::uint64_t{token});
    }
    key("block_size");
    pack_.number(std::uint64_t{event.block_size});
    lora_id(event.lora_id);
    medium();
    lora_name(event.lora_name);
    key("extra_keys");
    pack_extra_keys(pack_, event);
    group();
    if (named_) {
      key("kv_cache_spec_kind");
      pack_.text(kSpecKind);
    }
    if (has_session) {
      key("session_id");
      pack_.text(event.session_id);
    }
  }

  void operator()(const BlockRemoved& event) {
    begin("BlockRemoved", 4);
    hashes({event.hash});
    medium();
    group();
  }

  void operator()(const AllBlocksCleared&) { begin("AllBlocksCleared", 1); }

 private:
  void begin(std::string_view type, std::size_t fields) {
    if (named_) {
      pack_.map(fields);
      pack_.text("type");
    } else {
      pack_.array(fields);
    }
    pack_.text(type);
  }
  void key(std::string_view name) {
    if (named_) {
      pack_.text(name);
    }
  }
  void hashes(const std::vector<BlockHash>& hashes) {
    key("block_hashes");
    pack_.array(hashes.size());
    for (const BlockHash hash : hashes) {
      pack_.hash(hash);
    }
  }
  void lora_id(std::optional<std::uint32_t> id) {
    key("lora_id");
    if (id) {
      pack_.number(std::uint64_t{*id});
    } else {
      pack_.nil();
    }
  }
  void lora_name(std::string_view name) {
    key("lora_name");
    if (name.empty()) {
      pack_.nil();
    } else {
      pack_.text(name);
    }
  }
  void medium() {
    key("medium");
    pack_.text(kMedium);
  }
  void group() {
    key("group_idx");
    pack_.number(kGroup);
  }

  Packer& pack_;
  bool named_;
};

}  // namespace

std::string encode(const EventBatch& batch, EventEncoding encoding, HashEncoding hashes) {
  std::string out;
  Packer pack(out, hashes);
  pack.array(3);
  pack.number(batch.unix_seconds);
  pack.array(batch.events.size());
  EventWriter writer(pack, encoding);
  for (const KvEvent& event : batch.events) {
    std::visit(writer, event);
  }
  pack.number(std::uint64_t{batch.dp_rank});
  return out;
}

}  // namespace rolter::simulator
