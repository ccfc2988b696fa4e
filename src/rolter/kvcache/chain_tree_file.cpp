#include "rolter/kvcache/chain_tree_file.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace rolter::kvcache {
namespace {

static_assert(std::endian::native == std::endian::little);

template <typename T>
void put(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

template <typename T>
bool take(std::string_view& in, T& value) {
  if (in.size() < sizeof(value)) {
    return false;
  }
  std::memcpy(&value, in.data(), sizeof(value));
  in.remove_prefix(sizeof(value));
  return true;
}

/// What precedes a prompt's marks and keys. Members of falling size, so that there is no padding.
struct Header {
  std::uint64_t name;         // place and generation of the node
  std::uint64_t parent_name;  // 0: the root
  std::uint64_t tag;
  std::uint32_t marks;
  std::uint32_t keys;
  std::uint32_t parent_mark;
  std::uint32_t first_block;
  std::uint32_t block_size;
  std::uint32_t end_mark;
  std::uint32_t reply_from;
  std::uint32_t kind;
};
static_assert(sizeof(Header) == 56);
constexpr std::size_t kSavedMarkBytes = 16;  // digest, offset, tokens

std::uint64_t name_of(ChainTree::NodeIndex node, std::uint32_t generation) {
  return node == ChainTree::kRoot ? 0 : std::uint64_t{generation} << 32 | node;
}

struct Saved {
  Header header;
  std::string_view content;
};

/// Appends the prompts of a piece. False when it is cut off.
bool read_piece(std::string_view bytes, std::vector<Saved>& saved) {
  while (!bytes.empty()) {
    Saved next{};
    if (!take(bytes, next.header)) {
      return false;
    }
    const std::size_t size = std::size_t{next.header.marks} * kSavedMarkBytes +
                             std::size_t{next.header.keys} * sizeof(ChainKey);
    if (bytes.size() < size) {
      return false;
    }
    next.content = bytes.substr(0, size);
    bytes.remove_prefix(size);
    saved.push_back(next);
  }
  return true;
}

}  // namespace

bool ChainTreeFile::save(const ChainTree& tree, ChainTree::NodeIndex& cursor,
                         std::size_t most_bytes, std::string& out) {
  const std::size_t limit = out.size() + most_bytes;
  for (cursor = std::max(cursor, ChainTree::NodeIndex{1}); cursor < tree.nodes_.size(); ++cursor) {
    const ChainTree::Node& node = tree.nodes_[cursor];
    if (out.size() >= limit) {
      return true;
    }
    if (!node.is_used) {
      continue;
    }
    put(out, Header{.name = name_of(cursor, node.generation),
                    .parent_name = name_of(node.parent, tree.nodes_[node.parent].generation),
                    .tag = node.tag,
                    .marks = static_cast<std::uint32_t>(node.marks.size()),
                    .keys = static_cast<std::uint32_t>(node.chain.size()),
                    .parent_mark = node.parent_mark,
                    .first_block = node.first_block,
                    .block_size = node.block_size,
                    .end_mark = node.end_mark,
                    .reply_from = node.reply_from,
                    .kind = std::to_underlying(node.kind)});
    static_assert(sizeof(ChainTree::Mark) == kSavedMarkBytes);
    for (const ChainTree::Mark& mark : node.marks) {
      put(out, mark);
    }
    for (const ChainKey key : node.chain) {
      put(out, key);
    }
  }
  return false;
}

bool ChainTreeFile::load(std::span<const std::string_view> pieces, ChainTree& tree) {
  std::vector<Saved> waiting;
  const bool whole = std::ranges::all_of(
      pieces, [&waiting](std::string_view piece) { return read_piece(piece, waiting); });
  // Parents first; a prompt may lie anywhere.
  absl::flat_hash_map<std::uint64_t, std::vector<std::size_t>> children;
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    children[waiting[i].header.parent_name].push_back(i);
  }
  std::vector<std::pair<std::uint64_t, ChainTree::NodeIndex>> open{{0, ChainTree::kRoot}};
  while (!open.empty()) {
    const auto [name, node] = open.back();
    open.pop_back();
    const auto found = children.find(name);
    if (found == children.end()) {
      continue;
    }
    for (const std::size_t child : std::exchange(found->second, {})) {
      const Header& header = waiting[child].header;
      const ChainTree::NodeIndex added =
          tree.restore({.parent = node,
                        .parent_mark = header.parent_mark,
                        .first_block = header.first_block,
                        .block_size = header.block_size,
                        .end_mark = header.end_mark,
                        .reply_from = header.reply_from,
                        .kind = header.kind == 0 ? PromptKind::kText : PromptKind::kChat,
                        .tag = header.tag,
                        .marks = header.marks,
                        .keys = header.keys},
                       waiting[child].content);
      if (added != ChainTree::kRoot) {
        open.emplace_back(header.name, added);
      }
    }
  }
  return whole;
}

}  // namespace rolter::kvcache
