#include "rolter/kvcache/radix_tree.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>

#include "rolter/kvcache/common_prefix.h"

namespace rolter::kvcache {
namespace {

/// A root keeps its key in its otherwise empty edge.
EdgeText text_of_key(std::uint64_t key) {
  char bytes[sizeof(key)];
  std::memcpy(bytes, &key, sizeof(key));
  return EdgeText({bytes, sizeof(bytes)});
}

std::uint64_t key_of(const Node& root) {
  std::uint64_t key = 0;
  std::memcpy(&key, root.text.data(), sizeof(key));
  return key;
}

}  // namespace

RadixTree::RadixTree(std::uint32_t max_edge) : max_edge_(max_edge) {}

RadixTree::Reach RadixTree::walk(std::uint64_t root, std::string_view text) const {
  const auto found = roots_.find(root);
  return found == roots_.end() ? Reach{} : descend({.node = found->second}, text);
}

RadixTree::Reach RadixTree::resume(Reach reach, std::string_view text) const {
  reach.matched = std::min(reach.matched, static_cast<std::uint32_t>(text.size()));
  // Splits have put nodes above, perhaps at or below the place that was reached.
  NodeId parent = nodes_[reach.node].parent;
  while (parent != kNoId && nodes_[parent].depth >= reach.matched) {
    reach.node = parent;
    parent = nodes_[parent].parent;
  }
  const Node& node = nodes_[reach.node];
  if (reach.matched == node.depth) {
    return descend(reach, text);
  }
  const std::string_view edge = node.text.view().substr(reach.matched - nodes_[parent].depth);
  const std::size_t length = std::min(edge.size(), text.size() - reach.matched);
  reach.matched +=
      static_cast<std::uint32_t>(common_prefix(edge.data(), text.data() + reach.matched, length));
  return reach.matched < node.depth ? reach : descend(reach, text);
}

/// From the end of a node.
RadixTree::Reach RadixTree::descend(Reach reach, std::string_view text) const {
  while (reach.matched < text.size()) {
    const NodeId child = child_of(reach.node, text[reach.matched]);
    if (child == kNoId) {
      break;
    }
    const Node& node = nodes_[child];
    const std::size_t length = std::min<std::size_t>(node.text.size(), text.size() - reach.matched);
    reach.node = child;
    reach.matched += static_cast<std::uint32_t>(
        common_prefix(node.text.data(), text.data() + reach.matched, length));
    if (reach.matched < node.depth) {
      break;
    }
  }
  return reach;
}

RadixTree::End RadixTree::make_end(std::uint64_t root, std::string_view text, Reach reach) {
  End end{.node = reach.node};
  if (reach.node == kNoId) {
    end.node = root_for(root);
  } else if (reach.matched < nodes_[reach.node].depth) {
    end.split = split(reach.node, reach.matched);
    end.node = end.split;
  }
  end.node = append(end.node, text.substr(reach.matched));
  return end;
}

std::uint64_t RadixTree::spell(NodeId end, std::string& text) const {
  const std::size_t before = text.size();
  const Node* node = &nodes_[end];
  const std::size_t whole = before + node->depth;
  // Not resize(): it would write a long prompt twice. libstdc++ 12 may call with more room than was
  // asked for.
  text.resize_and_overwrite(whole, [&](char* to, std::size_t) {
    for (; !node->is_root(); node = &nodes_[node->parent]) {
      const std::string_view edge = node->text.view();
      edge.copy(to + before + node->depth - edge.size(), edge.size());
    }
    return whole;
  });
  return key_of(*node);
}

std::uint32_t RadixTree::prompt_at(NodeId end, ReplicaSlot replica) const {
  const Mark* const mark = nodes_[end].marks.find(replica);
  return mark == nullptr ? kNoId : mark->prompt;
}

void RadixTree::attach(NodeId end, ReplicaSlot replica, std::uint32_t prompt) {
  Node* node = &nodes_[end];
  ++node->ends;
  Mark* mark = node->marks.find(replica);
  if (mark != nullptr) {
    mark->prompt = prompt;
    ++mark->refs;
    return;
  }
  add_mark(*node, replica);
  node->marks.find(replica)->prompt = prompt;
  // A mark on a node implies one on every node above: stop at the first that is there already.
  for (node = &nodes_[node->parent]; !node->is_root(); node = &nodes_[node->parent]) {
    mark = node->marks.find(replica);
    if (mark != nullptr) {
      ++mark->refs;
      return;
    }
    add_mark(*node, replica);
  }
}

void RadixTree::detach(NodeId end, ReplicaSlot replica) {
  Node* node = &nodes_[end];
  --node->ends;
  node->marks.find(replica)->prompt = kNoId;
  for (; !node->is_root(); node = &nodes_[node->parent]) {
    Mark* const mark = node->marks.find(replica);
    if (mark->refs > 1) {
      --mark->refs;
      break;
    }
    drop_mark(*node, mark);
  }
  tidy(end);
}

RadixTree::Share RadixTree::share(ReplicaSlot replica) const {
  return to_index(replica) < shares_.size() ? shares_[to_index(replica)] : Share{};
}

RadixTree::Totals RadixTree::totals() const {
  return {.nodes = nodes_.size() - roots_.size(),
          .roots = roots_.size(),
          .marks = marks_,
          .text_bytes = text_bytes_};
}

NodeId RadixTree::root_for(std::uint64_t key) {
  const NodeId id = nodes_.take();
  Node& root = nodes_[id];
  root.text = text_of_key(key);
  root.parent = kNoId;
  roots_.emplace(key, id);
  return id;
}

NodeId RadixTree::child_of(NodeId parent, char first) const {
  const Node& node = nodes_[parent];
  if (node.children == 1) {
    const NodeId only = node.children_xor;
    return nodes_[only].first == first ? only : kNoId;
  }
  return node.children == 0 ? kNoId : child_index_.find(parent, first);
}

void RadixTree::adopt(NodeId parent, NodeId child) {
  Node& node = nodes_[parent];
  if (node.children == 1) {
    child_index_.insert(node.children_xor);
  }
  ++node.children;
  node.children_xor ^= child;
  if (node.children > 1) {
    child_index_.insert(child);
  }
}

void RadixTree::disown(NodeId parent, NodeId child) {
  Node& node = nodes_[parent];
  if (node.children > 1) {
    child_index_.erase(child);
  }
  --node.children;
  node.children_xor ^= child;
  if (node.children == 1) {
    child_index_.erase(node.children_xor);
  }
}

/// Both carry `parent` and the same first byte when this is called.
void RadixTree::replace_child(NodeId parent, NodeId old_child, NodeId new_child) {
  Node& node = nodes_[parent];
  node.children_xor ^= old_child ^ new_child;
  if (node.children > 1) {
    child_index_.erase(old_child);
    child_index_.insert(new_child);
  }
}

NodeId RadixTree::append(NodeId parent, std::string_view text) {
  std::uint32_t depth = nodes_[parent].depth;
  while (!text.empty()) {
    const std::size_t length = std::min<std::size_t>(text.size(), max_edge_ - depth % max_edge_);
    depth += static_cast<std::uint32_t>(length);
    const NodeId id = nodes_.take();
    Node& node = nodes_[id];
    node.text = EdgeText(text.substr(0, length));
    node.parent = parent;
    node.depth = depth;
    node.first = text.front();
    adopt(parent, id);
    text_bytes_ += length;
    text.remove_prefix(length);
    parent = id;
  }
  return parent;
}

NodeId RadixTree::split(NodeId lower_id, std::uint32_t depth) {
  const NodeId upper_id = nodes_.take();
  Node& upper = nodes_[upper_id];
  Node& lower = nodes_[lower_id];
  const NodeId parent = lower.parent;
  const std::uint32_t kept = depth - nodes_[parent].depth;
  upper.text = EdgeText(lower.text.view().substr(0, kept));
  upper.first = lower.first;
  upper.parent = parent;
  upper.depth = depth;
  upper.marks = lower.marks.above();
  replace_child(parent, lower_id, upper_id);
  lower.text = EdgeText(lower.text.view().substr(kept));
  lower.first = lower.text.view().front();
  lower.parent = upper_id;
  adopt(upper_id, lower_id);
  for (const Mark& mark : upper.marks.all()) {
    ++shares_[mark.slot].marks;
  }
  marks_ += upper.marks.size();
  return upper_id;
}

void RadixTree::merge_into_child(NodeId upper_id) {
  Node& upper = nodes_[upper_id];
  const NodeId lower_id = upper.children_xor;
  Node& lower = nodes_[lower_id];
  const NodeId parent = upper.parent;
  for (const Mark& mark : upper.marks.all()) {
    --shares_[mark.slot].marks;
  }
  marks_ -= upper.marks.size();
  lower.text = EdgeText(upper.text.view(), lower.text.view());
  lower.first = upper.first;
  lower.parent = parent;
  replace_child(parent, upper_id, lower_id);
  free_node(upper_id);
}

void RadixTree::remove_leaf(NodeId leaf) {
  Node& node = nodes_[leaf];
  if (node.is_root()) {
    roots_.erase(key_of(node));
  } else {
    disown(node.parent, leaf);
    text_bytes_ -= node.text.size();
  }
  free_node(leaf);
}

/// Removes the nodes that nothing needs any more, from `id` upwards.
void RadixTree::tidy(NodeId id) {
  while (id != kNoId) {
    const Node& node = nodes_[id];
    if (node.ends > 0 || node.children > 1) {
      return;
    }
    if (node.children == 1) {
      if (!node.is_root() && node.depth % max_edge_ != 0) {
        merge_into_child(id);
      }
      return;
    }
    const NodeId parent = node.parent;
    remove_leaf(id);
    id = parent;
  }
}

void RadixTree::free_node(NodeId id) {
  Node& node = nodes_[id];
  const std::uint32_t generation = node.generation + 1;
  node = Node{};
  node.generation = generation;
  nodes_.give_back(id);
}

RadixTree::Share& RadixTree::share_of(ReplicaSlot replica) {
  const std::uint32_t slot = to_index(replica);
  if (slot >= shares_.size()) {
    if (slot >= kMaxSlots) {
      throw std::out_of_range("replica slots are dense and below 2^23");
    }
    shares_.resize(slot + 1);
  }
  return shares_[slot];
}

void RadixTree::add_mark(Node& node, ReplicaSlot replica) {
  node.marks.insert(replica);
  Share& share = share_of(replica);
  ++share.marks;
  share.bytes += node.text.size();
  ++marks_;
}

void RadixTree::drop_mark(Node& node, const Mark* mark) {
  Share& share = shares_[mark->slot];
  --share.marks;
  share.bytes -= node.text.size();
  --marks_;
  node.marks.erase(mark);
}

}  // namespace rolter::kvcache
