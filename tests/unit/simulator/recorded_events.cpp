#include "tests/unit/simulator/recorded_events.h"
#include "tests/support/test_data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <msgpuck.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <variant>

namespace rolter::simulator {
namespace {

std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

/// The strings of a line's "frames": ["", "0000000000000001", ...].
std::vector<std::string> frames_of(const std::string& line) {
  std::vector<std::string> frames;
  std::size_t at = line.find("\"frames\"");
  if (at == std::string::npos) {
    return frames;
  }
  at = line.find('[', at);
  const std::size_t end = line.find(']', at);
  while (true) {
    const std::size_t open = line.find('"', at);
    if (open == std::string::npos || open > end) {
      return frames;
    }
    const std::size_t close = line.find('"', open + 1);
    frames.push_back(from_hex(std::string_view(line).substr(open + 1, close - open - 1)));
    at = close + 1;
  }
}

std::string read_text(const char** at) {
  std::uint32_t length = 0;
  const char* text = mp_decode_str(at, &length);
  return {text, length};
}

bool read_nil(const char** at) {
  if (mp_typeof(**at) != MP_NIL) {
    return false;
  }
  mp_decode_nil(at);
  return true;
}

BlockHash read_hash(const char** at) {
  if (mp_typeof(**at) == MP_UINT) {
    return BlockHash{mp_decode_uint(at)};
  }
  std::uint32_t length = 0;
  const char* bytes = mp_decode_bin(at, &length);
  std::uint64_t value = 0;
  for (std::uint32_t i = length - 8; i < length; ++i) {
    value = (value << 8U) | static_cast<unsigned char>(bytes[i]);
  }
  return BlockHash{value};
}

ExtraKeys read_keys(const char** at) {
  ExtraKeys keys;
  if (!read_nil(at)) {
    for (std::uint32_t n = mp_decode_array(at); n > 0; --n) {
      keys.push_back(read_text(at));
    }
  }
  return keys;
}

/// Reads the value of one field of a BlockStored; false when the field is not one of its own.
bool read_field(const std::string& key, const char** at, BlockStored& event) {
  if (key == "block_hashes") {
    for (std::uint32_t n = mp_decode_array(at); n > 0; --n) {
      event.hashes.push_back(read_hash(at));
    }
  } else if (key == "parent_block_hash") {
    if (!read_nil(at)) {
      event.parent = read_hash(at);
    }
  } else if (key == "token_ids") {
    for (std::uint32_t n = mp_decode_array(at); n > 0; --n) {
      event.tokens.push_back(static_cast<TokenId>(mp_decode_uint(at)));
    }
  } else if (key == "block_size") {
    event.block_size = static_cast<std::uint32_t>(mp_decode_uint(at));
  } else if (key == "lora_id") {
    if (!read_nil(at)) {
      event.lora_id = static_cast<std::uint32_t>(mp_decode_uint(at));
    }
  } else if (key == "lora_name") {
    event.lora_name = read_nil(at) ? std::string() : read_text(at);
  } else if (key == "extra_keys") {
    for (std::uint32_t n = mp_decode_array(at); n > 0; --n) {
      event.extra_keys.push_back(read_keys(at));
    }
  } else if (key == "session_id") {
    event.session_id = read_text(at);
  } else {
    return false;
  }
  return true;
}

KvEvent read_event(const char** at) {
  std::string type;
  BlockStored event;
  for (std::uint32_t n = mp_decode_map(at); n > 0; --n) {
    const std::string key = read_text(at);
    if (key == "type") {
      type = read_text(at);
    } else if (!read_field(key, at, event)) {
      mp_next(at);  // medium, group_idx, kv_cache_spec_kind: always the same here
    }
  }
  if (type == "BlockStored") {
    return event;
  }
  if (type == "BlockRemoved") {
    return BlockRemoved{event.hashes.at(0)};
  }
  return AllBlocksCleared{};
}

EventBatch read_batch(const std::string& payload) {
  const char* at = payload.data();
  EventBatch batch;
  mp_decode_array(&at);
  batch.unix_seconds = mp_decode_double(&at);
  for (std::uint32_t n = mp_decode_array(&at); n > 0; --n) {
    batch.events.push_back(read_event(&at));
  }
  batch.dp_rank = static_cast<std::uint32_t>(mp_decode_uint(&at));
  return batch;
}

std::ifstream open_data(const std::string& path) {
  std::ifstream file(rolter::test_data() / "vllm-0.32" / path);
  if (!file) {
    throw std::runtime_error("missing test data: " + path);
  }
  return file;
}

}  // namespace

std::vector<RecordedBatch> load_recording(const std::string& name) {
  std::vector<RecordedBatch> recording;
  std::ifstream file = open_data("events/" + name + ".jsonl");
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> frames = frames_of(line);
    if (frames.size() != 3) {
      continue;
    }
    RecordedBatch& message = recording.emplace_back();
    message.topic = frames[0];
    for (const char byte : frames[1]) {
      message.sequence = (message.sequence << 8U) | static_cast<unsigned char>(byte);
    }
    message.payload = frames[2];
    message.batch = read_batch(frames[2]);
  }
  return recording;
}

std::vector<TokenId> recorded_prompt(std::string_view label) {
  std::ifstream file = open_data("prompts.txt");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (word == label) {
      std::vector<TokenId> tokens;
      for (TokenId token = 0; words >> token;) {
        tokens.push_back(token);
      }
      return tokens;
    }
  }
  throw std::runtime_error("no such prompt");
}

namespace {

/// The text that ends with each block, for every block of a recording, in order of appearance.
std::vector<std::vector<TokenId>> texts_up_to_each_block(
    const std::vector<RecordedBatch>& recording) {
  std::map<BlockHash, std::vector<TokenId>> known;
  std::vector<std::vector<TokenId>> texts;
  for (const RecordedBatch& message : recording) {
    for (const KvEvent& any : message.batch.events) {
      const auto* event = std::get_if<BlockStored>(&any);
      if (event == nullptr) {
        continue;
      }
      std::vector<TokenId> text = event->parent ? known[*event->parent] : std::vector<TokenId>();
      for (std::size_t i = 0; i < event->hashes.size(); ++i) {
        const auto first =
            event->tokens.begin() + static_cast<std::ptrdiff_t>(i * event->block_size);
        text.insert(text.end(), first, first + event->block_size);
        known[event->hashes[i]] = text;
        texts.push_back(text);
      }
    }
  }
  return texts;
}

bool starts_with(const std::vector<TokenId>& text, const std::vector<TokenId>& start) {
  return text.size() > start.size() && std::equal(start.begin(), start.end(), text.begin());
}

}  // namespace

std::vector<std::vector<TokenId>> recorded_replies(const std::vector<RecordedBatch>& recording,
                                                   const std::vector<TokenId>& prompt,
                                                   std::size_t count) {
  std::vector<std::vector<TokenId>> replies;
  for (const std::vector<TokenId>& text : texts_up_to_each_block(recording)) {
    if (!starts_with(text, prompt)) {
      continue;
    }
    const std::vector<TokenId> reply(text.begin() + static_cast<std::ptrdiff_t>(prompt.size()),
                                     text.end());
    const auto shorter = std::ranges::find_if(
        replies, [&reply](const std::vector<TokenId>& other) { return starts_with(reply, other); });
    if (shorter != replies.end()) {
      *shorter = reply;
    } else if (std::ranges::none_of(replies, [&reply](const std::vector<TokenId>& other) {
                 return other == reply || starts_with(other, reply);
               })) {
      replies.push_back(reply);
    }
  }
  if (replies.empty()) {
    replies.emplace_back();
  }
  for (std::vector<TokenId>& reply : replies) {
    reply.resize(count);
  }
  return replies;
}

std::string EventShapes::name(BlockHash hash) {
  auto found = std::ranges::find(seen_, hash);
  if (found == seen_.end()) {
    seen_.push_back(hash);
    found = seen_.end() - 1;
  }
  return fmt::format("#{}", found - seen_.begin());
}

std::string EventShapes::describe(const BlockStored& event) {
  std::string text = "Stored";
  for (const BlockHash hash : event.hashes) {
    text += ' ' + name(hash);
  }
  text += " after " + (event.parent ? name(*event.parent) : std::string("root"));
  text += fmt::format(" size {} lora {}/{} session {} keys {} tokens {}", event.block_size,
                      event.lora_id.value_or(0), event.lora_name, event.session_id,
                      event.extra_keys, event.tokens);
  return text;
}

std::string EventShapes::describe(const EventBatch& batch) {
  std::string text = fmt::format("rank {}", batch.dp_rank);
  for (const KvEvent& event : batch.events) {
    text += "\n  ";
    if (const auto* stored = std::get_if<BlockStored>(&event)) {
      text += describe(*stored);
    } else if (const auto* removed = std::get_if<BlockRemoved>(&event)) {
      text += "Removed " + name(removed->hash);
    } else {
      text += "Cleared";
    }
  }
  return text;
}

}  // namespace rolter::simulator
