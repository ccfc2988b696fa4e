#include "rolter/kvcache/chain_tree.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace rolter::kvcache {
namespace {

// A mark with its share of by_digest_, whose slots of 17 bytes are 44 to 88 % full.
constexpr std::size_t kMarkCost = 45;
constexpr std::size_t kNodeCost = 192;

// What a chat template adds after the last turn is at most so long (ChatML: 3 to 5 tokens): a
// prompt that goes on with another turn than the assistant's has that much less in common.
constexpr std::uint32_t kOpeningTokens = 8;

// Of interpolated tokens a 32nd is not counted: text is not equally dense.
constexpr double kDoubt = 1.0 - 1.0 / 32;

// A turn has so many times the tokens per byte of the prompt before it, at most.
constexpr double kDensest = 1.25;

}  // namespace

ChainTree::ChainTree(std::size_t max_bytes) : max_bytes_(max_bytes), nodes_(1) {}

ChainTree::Place ChainTree::find(std::span<const PromptMark> marks) const {
  Place place;
  std::size_t end = marks.size() + 1;  // the number of known ones is in [place.passed, end)
  // Most prompts are known, or go on with a turn or two: the first steps are short, from the end.
  for (std::size_t step = 1; place.passed + 1 < end; step = step * 2 + 1) {
    const std::size_t middle =
        place.passed == 0 && step < end / 2 ? end - step : place.passed + (end - place.passed) / 2;
    const auto found = by_digest_.find(marks[middle - 1].digest);
    if (found == by_digest_.end()) {
      end = middle;
    } else {
      place = {.node = found->second.node, .mark = found->second.mark, .passed = middle};
    }
  }
  place.generation = nodes_[place.node].generation;
  return place;
}

ChainTree::Place ChainTree::find_again(std::span<const PromptMark> marks,
                                       const Place& before) const {
  const bool stands = before.node == kRoot || is_alive({before.node, before.generation});
  const bool goes_on =
      before.passed < marks.size() && by_digest_.contains(marks[before.passed].digest);
  return stands && !goes_on ? before : find(marks);
}

std::uint32_t ChainTree::tokens_at(Place place, Replies replies) const {
  if (place.node == kRoot) {
    return 0;
  }
  const Node& node = nodes_[place.node];
  const bool in_ignored_reply = replies == Replies::kIgnored && in_reply(place);
  const std::uint32_t mark = in_ignored_reply ? node.end_mark : place.mark;
  const auto all = static_cast<std::uint32_t>(blocks_of(place.node)) * node.block_size;
  const std::uint32_t tokens = node.marks[mark].tokens;
  if (tokens == kAllBlocks) {
    return all;
  }
  return std::min(tokens == kUnknown ? between(node, mark) : tokens, all + node.block_size - 1);
}

ChainTree::Point ChainTree::left_of(const Node& node, std::uint32_t mark) const {
  for (std::uint32_t i = mark; i-- > 0;) {
    if (node.marks[i].tokens != kUnknown && node.marks[i].tokens != kAllBlocks) {
      return {static_cast<double>(node.marks[i].offset), static_cast<double>(node.marks[i].tokens)};
    }
  }
  return node.parent == kRoot ? Point{} : base_of(node);
}

ChainTree::Point ChainTree::base_of(const Node& node) const {
  const Place place{.node = node.parent, .mark = node.parent_mark};
  const Node& parent = nodes_[node.parent];
  const double offset = parent.marks[node.parent_mark].offset;
  const Mark& before = parent.marks[parent.end_mark];
  const Mark& end = node.marks[node.end_mark];
  const auto counted = [](const Mark& mark) {
    return mark.tokens != kUnknown && mark.tokens != kAllBlocks;
  };
  // A template or a tokenizer may have written the reply anew: then the parent's mark behind it
  // says only how much both chains have in common, and this one has blocks of its own for the
  // reply.
  const std::size_t replied = blocks_of(node.parent);
  const bool written_anew = ends_reply(place) && node.first_block < replied;
  if (!written_anew || !counted(before) || !counted(end)) {
    return {offset, static_cast<double>(tokens_at(place, Replies::kCounted))};
  }
  // From the node's end back over what follows the reply, which is about as dense as the prompt.
  const double density = static_cast<double>(before.tokens) / before.offset;
  const double behind = (end.offset - offset) * density * kDensest + kOpeningTokens;
  return {offset,
          std::clamp(end.tokens - behind, static_cast<double>(node.first_block) * node.block_size,
                     static_cast<double>(replied) * node.block_size)};
}

std::uint32_t ChainTree::between(const Node& node, std::uint32_t mark) const {
  const Point left = left_of(node, mark);
  for (std::uint32_t i = mark + 1; i < node.marks.size(); ++i) {
    const Mark& right = node.marks[i];
    if (right.tokens == kUnknown) {
      continue;
    }
    const double known =
        right.tokens == kAllBlocks
            ? static_cast<double>((node.first_block + node.chain.size()) * node.block_size)
            : right.tokens;
    const double span = std::max(known - left.tokens, 0.0);
    const double share =
        std::clamp((node.marks[mark].offset - left.offset) /
                       std::max(static_cast<double>(right.offset) - left.offset, 1.0),
                   0.0, 1.0);
    return static_cast<std::uint32_t>(left.tokens + span * share * kDoubt);
  }
  return static_cast<std::uint32_t>(left.tokens);
}

void ChainTree::chain_of(NodeIndex node, std::size_t blocks, std::vector<ChainKey>& chain) const {
  blocks = std::min(blocks, blocks_of(node));
  chain.resize(blocks);
  while (blocks > 0) {
    const Node& at = nodes_[node];
    if (at.first_block + at.chain.size() < blocks) {
      blocks = at.first_block + at.chain.size();
      chain.resize(blocks);
    }
    if (at.first_block < blocks) {
      std::copy_n(at.chain.begin(), blocks - at.first_block,
                  chain.begin() + static_cast<std::ptrdiff_t>(at.first_block));
      blocks = at.first_block;
    }
    node = at.parent;
  }
}

ChainTree::NodeIndex ChainTree::take_node() {
  if (free_.empty()) {
    free_.push_back(static_cast<NodeIndex>(nodes_.size()));
    nodes_.emplace_back();
  }
  const NodeIndex node = free_.back();
  free_.pop_back();
  nodes_[node].is_used = true;
  return node;
}

ChainTree::Name ChainTree::add(const Prompt& prompt, Place place, std::span<const ChainKey> chain,
                               std::size_t common) {
  const NodeIndex made = take_node();
  if (place.node != kRoot) {
    if (nodes_[place.node].children++ == 0) {
      unlink(place.node);
    }
  }
  Node& node = nodes_[made];
  node.block_size = prompt.block_size;
  node.parent = place.node;
  node.parent_mark = place.mark;
  node.kind = prompt.kind;
  node.tag = prompt.tag;
  node.first_block = static_cast<std::uint32_t>(common);
  node.chain.assign(chain.begin() + static_cast<std::ptrdiff_t>(common), chain.end());
  append_marks(made, prompt.marks.subspan(place.passed));
  node.end_mark = static_cast<std::uint32_t>(node.marks.size()) - 1;
  node.reply_from = static_cast<std::uint32_t>(node.marks.size());
  stats_.prompts += 1;
  stats_.blocks += node.chain.size();
  stats_.bytes += kNodeCost + node.chain.size() * sizeof(ChainKey);
  link_newest(made);
  enforce_bound(made);
  return name_of(made);
}

void ChainTree::append_marks(NodeIndex node, std::span<const PromptMark> marks) {
  std::vector<Mark>& own = nodes_[node].marks;
  own.reserve(own.size() + marks.size());
  for (const PromptMark& mark : marks) {
    by_digest_.prefetch(mark.digest);  // each is a cache miss: better all at once
  }
  for (const PromptMark& mark : marks) {
    by_digest_[mark.digest] = {.node = node, .mark = static_cast<std::uint32_t>(own.size())};
    own.push_back({.digest = mark.digest, .offset = mark.offset});
  }
  stats_.marks += marks.size();
  stats_.bytes += marks.size() * kMarkCost;
}

bool ChainTree::fits(const Restored& saved) const {
  const Node& parent = nodes_[saved.parent];
  const bool has_place = saved.parent == kRoot ? saved.first_block == 0
                                               : saved.parent_mark < parent.marks.size() &&
                                                     saved.first_block <= blocks_of(saved.parent) &&
                                                     saved.block_size == parent.block_size;
  return has_place && saved.block_size > 0 && saved.end_mark < saved.marks &&
         saved.reply_from > saved.end_mark && saved.reply_from <= saved.marks &&
         stats_.bytes + kNodeCost + saved.marks * kMarkCost + saved.keys * sizeof(ChainKey) <=
             max_bytes_;
}

ChainTree::NodeIndex ChainTree::restore(const Restored& saved, std::string_view content) {
  if (!fits(saved)) {
    return kRoot;
  }
  std::vector<Mark> marks(saved.marks);
  std::vector<ChainKey> chain(saved.keys);
  std::memcpy(marks.data(), content.data(), marks.size() * sizeof(Mark));
  std::memcpy(chain.data(), content.data() + marks.size() * sizeof(Mark),
              chain.size() * sizeof(ChainKey));
  std::vector<PromptMark> places;
  for (const Mark& mark : marks) {
    if (by_digest_.contains(mark.digest)) {
      return kRoot;
    }
    places.push_back({.digest = mark.digest, .offset = mark.offset});
  }
  const Name made =
      add({.marks = places, .kind = saved.kind, .block_size = saved.block_size, .tag = saved.tag},
          {.node = saved.parent, .mark = saved.parent_mark, .passed = 0}, chain, 0);
  Node& node = nodes_[made.node];
  node.marks = std::move(marks);
  node.first_block = saved.first_block;
  node.end_mark = saved.end_mark;
  node.reply_from = saved.reply_from;
  return made.node;
}

void ChainTree::part(Place place, std::uint32_t blocks) {
  if (place.node == kRoot) {
    return;
  }
  Node& node = nodes_[place.node];
  std::uint32_t& tokens = node.marks[place.mark].tokens;
  const bool agrees =
      tokens != kUnknown && tokens != kAllBlocks && tokens / node.block_size <= blocks;
  if (!agrees) {
    // Between this many blocks and one more. Not 0, which says that nothing is known.
    tokens = std::max(blocks * node.block_size + node.block_size / 2, 1U);
  }
}

void ChainTree::set_prompt_tokens(NodeIndex index, std::uint32_t tokens) {
  Node& node = nodes_[index];
  node.marks[node.end_mark].tokens = std::max(tokens, 1U);
  if (node.kind == PromptKind::kChat && node.end_mark > 0 &&
      node.marks[node.end_mark - 1].tokens == kUnknown) {
    node.marks[node.end_mark - 1].tokens = tokens > kOpeningTokens ? tokens - kOpeningTokens : 1;
  }
}

void ChainTree::set_chain(NodeIndex index, std::size_t first, std::span<const ChainKey> keys) {
  Node& node = nodes_[index];
  const std::size_t before = node.chain.size();
  node.chain.resize(first - node.first_block);
  node.chain.insert(node.chain.end(), keys.begin(), keys.end());
  stats_.blocks += node.chain.size() - before;
  stats_.bytes += (node.chain.size() - before) * sizeof(ChainKey);
  enforce_bound(index);
}

void ChainTree::add_reply(NodeIndex index, std::span<const PromptMark> marks) {
  if (marks.empty()) {
    return;
  }
  nodes_[index].reply_from = static_cast<std::uint32_t>(nodes_[index].marks.size());
  append_marks(index, marks);
  nodes_[index].marks.back().tokens = kAllBlocks;
  enforce_bound(index);
}

void ChainTree::touch(NodeIndex node) {
  if (node != kRoot && nodes_[node].children == 0) {
    unlink(node);
    link_newest(node);
  }
}

void ChainTree::set_max_bytes(std::size_t max_bytes) {
  max_bytes_ = max_bytes;
  enforce_bound(kRoot);
}

void ChainTree::link_newest(NodeIndex node) {
  const NodeIndex newest = nodes_[kRoot].older;
  nodes_[node].older = newest;
  nodes_[node].newer = kRoot;
  nodes_[newest].newer = node;
  nodes_[kRoot].older = node;
}

void ChainTree::link_oldest(NodeIndex node) {
  const NodeIndex oldest = nodes_[kRoot].newer;
  nodes_[node].newer = oldest;
  nodes_[node].older = kRoot;
  nodes_[oldest].older = node;
  nodes_[kRoot].newer = node;
}

void ChainTree::unlink(NodeIndex node) {
  nodes_[nodes_[node].older].newer = nodes_[node].newer;
  nodes_[nodes_[node].newer].older = nodes_[node].older;
}

void ChainTree::remove(NodeIndex index) {
  unlink(index);
  Node& node = nodes_[index];
  for (std::uint32_t i = 0; i < node.marks.size(); ++i) {
    const auto found = by_digest_.find(node.marks[i].digest);
    if (found != by_digest_.end() && found->second.node == index) {
      by_digest_.erase(found);
    }
  }
  stats_.prompts -= 1;
  stats_.marks -= node.marks.size();
  stats_.blocks -= node.chain.size();
  stats_.bytes -= kNodeCost + node.marks.size() * kMarkCost + node.chain.size() * sizeof(ChainKey);
  const NodeIndex parent = node.parent;
  const std::uint32_t generation = node.generation + 1;
  node = {};
  node.generation = generation;
  free_.push_back(index);
  if (parent != kRoot && --nodes_[parent].children == 0) {
    // It was used before every prompt that is still a leaf.
    link_oldest(parent);
  }
}

/// `spared` is at work: it stays, even alone over the bound.
void ChainTree::enforce_bound(NodeIndex spared) {
  while (stats_.bytes > max_bytes_) {
    NodeIndex oldest = nodes_[kRoot].newer;
    if (oldest == spared && oldest != kRoot) {
      oldest = nodes_[oldest].newer;
    }
    if (oldest == kRoot) {
      return;
    }
    remove(oldest);
    ++stats_.evicted;
  }
}

}  // namespace rolter::kvcache
